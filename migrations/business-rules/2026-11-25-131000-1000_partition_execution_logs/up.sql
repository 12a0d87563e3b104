-- Old executions are dropped by month, which needs no index.
drop index business_rules_execution_logs_executed_at_idx;
call app_partition_by_month('business_rules_execution_logs');
