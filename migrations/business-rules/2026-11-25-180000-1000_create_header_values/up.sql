-- Values of secret headers of webhooks. Actions of rules name them by id; one that no rule names any more is kept as long as an undo could bring such a
-- rule back.
create table business_rules_header_values (
    tenant_id uuid not null,
    id uuid not null,
    value bytea not null,
    unused_since timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id)
);
call app_secure_table('business_rules_header_values');
