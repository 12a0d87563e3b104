drop function audit_count_entries();
drop function audit_forget_counts();
drop table audit_entry_counts;
drop table audit_counted_partitions;
