-- When each scheduled job is due. The rows belong to the platform.
create table core_schedules (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    due_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_schedules_tenant_id_name_key unique (tenant_id, name)
);
call app_secure_table('core_schedules');
