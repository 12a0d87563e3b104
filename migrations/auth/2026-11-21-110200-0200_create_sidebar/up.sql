create table auth_sidebar_preferences (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    locale text not null,
    settings jsonb not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_sidebar_preferences_tenant_id_user_id_locale_key unique (tenant_id, user_id, locale),
    constraint auth_sidebar_preferences_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id) on delete cascade
);

-- A tenant may have settings for a global role: the row is the tenant's, the role the platform's.
create table auth_role_sidebar_preferences (
    tenant_id uuid not null,
    id uuid not null,
    role_tenant_id uuid not null,
    role_id uuid not null,
    locale text not null,
    settings jsonb not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_role_sidebar_preferences_tenant_id_role_locale_key
        unique (tenant_id, role_tenant_id, role_id, locale),
    constraint auth_role_sidebar_preferences_role_tenant_id_role_id_fkey
        foreign key (role_tenant_id, role_id) references auth_roles (tenant_id, id) on delete cascade,
    constraint auth_role_sidebar_preferences_role_tenant_id_check
        check (role_tenant_id in (tenant_id, '00000000-0000-0000-0000-000000000000'))
);
create index auth_role_sidebar_preferences_role_tenant_id_role_id_idx
    on auth_role_sidebar_preferences (role_tenant_id, role_id);

-- One variant of a user and locale is active. The key is deferred because undo and redo exchange the active one between two rows; a
-- partial index can't be, hence the column.
create table auth_sidebar_variants (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    locale text not null,
    name text not null,
    name_norm text not null,
    settings jsonb not null,
    is_active boolean not null,
    active_locale text generated always as (case when is_active and deleted_at is null then locale end) stored,
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_sidebar_variants_tenant_id_user_id_active_locale_key
        unique (tenant_id, user_id, active_locale) deferrable initially deferred,
    constraint auth_sidebar_variants_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id) on delete cascade
);
create unique index auth_sidebar_variants_tenant_id_user_id_locale_name_norm_key
    on auth_sidebar_variants (tenant_id, user_id, locale, name_norm) where deleted_at is null;

call app_secure_table('auth_sidebar_preferences');
call app_secure_table('auth_role_sidebar_preferences');
call app_secure_table('auth_sidebar_variants');
