-- Keys with which webhooks are signed. A revoked one keeps its row without the key.
create table business_rules_webhook_secrets (
    tenant_id uuid not null,
    id uuid not null,
    secret bytea,
    last4 text not null,
    revoked_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_webhook_secrets_secret_check check ((secret is null) = (revoked_at is not null))
);

-- Webhooks of the last days. Each is sent by the job of its batch.
create table business_rules_webhook_deliveries (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    rule_id uuid not null,
    run_id uuid not null,
    batch_id uuid not null,
    url text not null,
    method text not null,
    headers jsonb not null,
    body text not null,
    status text not null,
    attempts integer not null,
    next_attempt_at timestamptz(3) not null,
    response_status integer,
    error text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_webhook_deliveries_status_check check (status in ('pending', 'sent', 'failed'))
);
create index business_rules_webhook_deliveries_pending_idx
    on business_rules_webhook_deliveries (tenant_id, batch_id, next_attempt_at, id) where status = 'pending';
create index business_rules_webhook_deliveries_tenant_id_created_at_idx
    on business_rules_webhook_deliveries (tenant_id, created_at desc, id desc);
create index business_rules_webhook_deliveries_tenant_id_rule_id_created_at_idx
    on business_rules_webhook_deliveries (tenant_id, rule_id, created_at desc, id desc);
create index business_rules_webhook_deliveries_created_at_idx on business_rules_webhook_deliveries (created_at);

call app_secure_table('business_rules_webhook_secrets');
call app_secure_table('business_rules_webhook_deliveries');
