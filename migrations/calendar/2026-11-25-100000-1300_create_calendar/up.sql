create table calendar_windows (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    name text not null,
    note text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint calendar_windows_tenant_id_organization_id_name_key unique (tenant_id, organization_id, name)
);
create index calendar_windows_tenant_id_name_idx on calendar_windows (tenant_id, name, id);

call app_secure_table('calendar_windows');
