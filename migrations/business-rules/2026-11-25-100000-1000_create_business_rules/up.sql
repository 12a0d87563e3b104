create table business_rules_rules (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    name text not null,
    note text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint business_rules_rules_tenant_id_organization_id_name_key unique (tenant_id, organization_id, name)
);
create index business_rules_rules_tenant_id_name_idx on business_rules_rules (tenant_id, name, id);

call app_secure_table('business_rules_rules');
