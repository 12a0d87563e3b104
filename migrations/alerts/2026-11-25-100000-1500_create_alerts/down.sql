drop table alerts_alerts;
