drop table alerts_reads;
drop table alerts_assignments;
drop table alerts_alerts;
