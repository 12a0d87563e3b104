create table business_rules_rules (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    rule_key text not null,
    rule_name text not null,
    description text,
    rule_type text not null,
    rule_category text,
    entity_type text not null,
    event_type text,
    condition_expression jsonb,
    success_actions jsonb not null,
    failure_actions jsonb not null,
    enabled boolean not null,
    priority integer not null,
    version integer not null,
    effective_from timestamptz(3),
    effective_to timestamptz(3),
    effect_features text[] not null,
    created_by uuid,
    updated_by uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_rules_tenant_id_rule_key_key unique (tenant_id, rule_key),
    constraint business_rules_rules_rule_type_check
        check (rule_type in ('GUARD', 'VALIDATION', 'CALCULATION', 'ACTION', 'ASSIGNMENT')),
    constraint business_rules_rules_priority_check check (priority between 0 and 9999),
    constraint business_rules_rules_effective_to_check check (effective_to > effective_from)
);
create index business_rules_rules_tenant_id_entity_type_idx on business_rules_rules (tenant_id, entity_type) where enabled;
create index business_rules_rules_tenant_id_priority_idx on business_rules_rules (tenant_id, priority desc, rule_key);

create table business_rules_sets (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    set_key text not null,
    set_name text not null,
    description text,
    enabled boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_sets_tenant_id_set_key_key unique (tenant_id, set_key)
);

-- The organization is that of the set, which never changes.
create table business_rules_set_members (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    set_id uuid not null,
    rule_id uuid not null,
    sequence integer not null,
    enabled boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_set_members_tenant_id_set_id_rule_id_key unique (tenant_id, set_id, rule_id),
    constraint business_rules_set_members_sequence_check check (sequence >= 0),
    constraint business_rules_set_members_tenant_id_set_id_fkey foreign key (tenant_id, set_id)
        references business_rules_sets (tenant_id, id) on delete cascade,
    constraint business_rules_set_members_tenant_id_rule_id_fkey foreign key (tenant_id, rule_id)
        references business_rules_rules (tenant_id, id) on delete cascade
);
create index business_rules_set_members_tenant_id_rule_id_idx on business_rules_set_members (tenant_id, rule_id);

-- The resource of the log entry of an execution that a client requests.
create table business_rules_runs (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    entity_type text not null,
    entity_id text not null,
    event_type text,
    allowed boolean not null,
    executed_rules integer not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id)
);
create index business_rules_runs_created_at_idx on business_rules_runs (created_at);

create table business_rules_execution_logs (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    run_id uuid not null,
    rule_id uuid not null,
    rule_key text not null,
    rule_name text not null,
    rule_type text not null,
    entity_type text not null,
    entity_id text not null,
    execution_result text not null,
    input_context jsonb,
    output_context jsonb,
    error_message text,
    execution_time_ms integer not null,
    executed_at timestamptz(3) not null,
    executed_by uuid,
    trigger text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_execution_logs_execution_result_check check (execution_result in ('SUCCESS', 'FAILURE', 'ERROR')),
    constraint business_rules_execution_logs_trigger_check check (trigger in ('api', 'set', 'guard', 'event'))
);
create index business_rules_execution_logs_tenant_id_executed_at_idx
    on business_rules_execution_logs (tenant_id, executed_at desc, id desc);
create index business_rules_execution_logs_tenant_id_rule_id_executed_at_idx
    on business_rules_execution_logs (tenant_id, rule_id, executed_at desc, id desc);
create index business_rules_execution_logs_executed_at_idx on business_rules_execution_logs (executed_at);

call app_secure_table('business_rules_rules');
call app_secure_table('business_rules_sets');
call app_secure_table('business_rules_set_members');
call app_secure_table('business_rules_runs');
call app_secure_table('business_rules_execution_logs');
