-- Executions for a record and by a user, the latest first. Executions that events start, and those by keys, have no user.
create index business_rules_execution_logs_tenant_id_entity_id_idx
    on business_rules_execution_logs (tenant_id, entity_id, executed_at desc, id desc);
create index business_rules_execution_logs_tenant_id_executed_by_idx
    on business_rules_execution_logs (tenant_id, executed_by, executed_at desc, id desc) where executed_by is not null;
