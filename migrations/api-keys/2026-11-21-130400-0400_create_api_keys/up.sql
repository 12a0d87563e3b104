-- Keys of programs. The hash is of the whole key; the prefix finds the rows that it has to be compared with.
create table api_keys_keys (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    description text,
    organization_id uuid,
    key_prefix text not null,
    key_hash bytea not null,
    expires_at timestamptz(3),
    last_used_at timestamptz(3),
    created_by_kind text not null,
    created_by_id uuid,
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint api_keys_keys_tenant_id_key_prefix_key unique (tenant_id, key_prefix),
    constraint api_keys_keys_tenant_id_organization_id_fkey
        foreign key (tenant_id, organization_id) references directory_organizations (tenant_id, id)
);
create index api_keys_keys_key_prefix_idx on api_keys_keys (key_prefix);
create index api_keys_keys_tenant_id_created_at_id_idx on api_keys_keys (tenant_id, created_at desc, id)
    where deleted_at is null;
create index api_keys_keys_tenant_id_organization_id_idx on api_keys_keys (tenant_id, organization_id);

create table api_keys_key_roles (
    tenant_id uuid not null,
    id uuid not null,
    key_id uuid not null,
    role_tenant_id uuid not null,
    role_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint api_keys_key_roles_tenant_id_key_id_role_key unique (tenant_id, key_id, role_tenant_id, role_id),
    constraint api_keys_key_roles_tenant_id_key_id_fkey
        foreign key (tenant_id, key_id) references api_keys_keys (tenant_id, id) on delete cascade,
    constraint api_keys_key_roles_role_tenant_id_role_id_fkey
        foreign key (role_tenant_id, role_id) references auth_roles (tenant_id, id),
    constraint api_keys_key_roles_role_tenant_id_check
        check (role_tenant_id in (tenant_id, '00000000-0000-0000-0000-000000000000'))
);
create index api_keys_key_roles_role_tenant_id_role_id_idx on api_keys_key_roles (role_tenant_id, role_id);

call app_secure_table('api_keys_keys');
call app_secure_table('api_keys_key_roles');
