create table auth_users (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    email text not null,
    email_norm text not null,
    name text,
    password_hash text,
    is_active boolean not null,
    is_confirmed boolean not null,
    last_login_at timestamptz(3),
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_users_tenant_id_organization_id_fkey
        foreign key (tenant_id, organization_id) references directory_organizations (tenant_id, id)
);
create unique index auth_users_tenant_id_email_norm_key on auth_users (tenant_id, email_norm) where deleted_at is null;
create index auth_users_email_norm_idx on auth_users (email_norm);
create index auth_users_tenant_id_organization_id_idx on auth_users (tenant_id, organization_id);

create table auth_roles (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    name_norm text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_roles_tenant_id_name_norm_key unique (tenant_id, name_norm)
);

create table auth_user_roles (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    role_tenant_id uuid not null,
    role_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_user_roles_tenant_id_user_id_role_key unique (tenant_id, user_id, role_tenant_id, role_id),
    constraint auth_user_roles_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id) on delete cascade,
    constraint auth_user_roles_role_tenant_id_role_id_fkey
        foreign key (role_tenant_id, role_id) references auth_roles (tenant_id, id),
    constraint auth_user_roles_role_tenant_id_check
        check (role_tenant_id in (tenant_id, '00000000-0000-0000-0000-000000000000'))
);
create index auth_user_roles_role_tenant_id_role_id_idx on auth_user_roles (role_tenant_id, role_id);

-- The id of an ACL row is that of its role or user: there is one each.
create table auth_role_acls (
    tenant_id uuid not null,
    id uuid not null,
    role_id uuid not null,
    is_super_admin boolean not null,
    features text[] not null,
    organizations uuid[],
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_role_acls_tenant_id_role_id_key unique (tenant_id, role_id),
    constraint auth_role_acls_tenant_id_role_id_fkey
        foreign key (tenant_id, role_id) references auth_roles (tenant_id, id) on delete cascade
);

create table auth_user_acls (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    is_super_admin boolean not null,
    features text[] not null,
    organizations uuid[],
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_user_acls_tenant_id_user_id_key unique (tenant_id, user_id),
    constraint auth_user_acls_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id) on delete cascade
);

create table auth_default_grants (
    tenant_id uuid not null,
    id uuid not null,
    role_id uuid not null,
    feature text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_default_grants_tenant_id_role_id_feature_key unique (tenant_id, role_id, feature),
    constraint auth_default_grants_tenant_id_role_id_fkey
        foreign key (tenant_id, role_id) references auth_roles (tenant_id, id) on delete cascade
);

create table auth_sessions (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    token_hash bytea not null,
    is_remembered boolean not null,
    expires_at timestamptz(3) not null,
    last_used_at timestamptz(3),
    ended_at timestamptz(3),
    end_reason text,
    ip text,
    user_agent text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_sessions_tenant_id_user_id_fkey foreign key (tenant_id, user_id) references auth_users (tenant_id, id)
);
create index auth_sessions_token_hash_idx on auth_sessions (token_hash);
create index auth_sessions_tenant_id_user_id_idx on auth_sessions (tenant_id, user_id) where ended_at is null;

-- Written in the transaction that takes a right away; every node reads it and drops what it remembers. Times are the database's.
create table auth_revocations (
    tenant_id uuid not null,
    id uuid not null,
    subject_kind text not null,
    subject_id uuid not null,
    created_at timestamptz(3) not null default clock_timestamp(),
    updated_at timestamptz(3) not null default clock_timestamp(),
    primary key (tenant_id, id),
    constraint auth_revocations_subject_kind_check
        check (subject_kind in ('session', 'user', 'role', 'key', 'organization', 'tenant'))
);
create index auth_revocations_created_at_idx on auth_revocations (created_at);

call app_secure_table('auth_users');
call app_secure_table('auth_roles');
call app_secure_table('auth_user_roles');
call app_secure_table('auth_role_acls');
call app_secure_table('auth_user_acls');
call app_secure_table('auth_default_grants');
call app_secure_table('auth_sessions');
call app_secure_table('auth_revocations');

-- Global roles can be seen and assigned in every tenant.
create policy global_rows on auth_roles for select using (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy global_rows on auth_role_acls for select using (tenant_id = '00000000-0000-0000-0000-000000000000');
