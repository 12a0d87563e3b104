drop index alerts_alerts_tenant_id_expires_at_idx;
drop trigger alerts_count_added on alerts_alerts;
drop trigger alerts_count_changed on alerts_alerts;
drop trigger alerts_count_removed on alerts_alerts;
drop function alerts_count();
drop table alerts_counts;
