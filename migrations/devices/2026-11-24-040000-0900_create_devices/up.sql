-- A deactivated device keeps its row, so that its id lives on when it is registered again.
create table devices_devices (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    organization_id uuid,
    device_id text not null,
    platform text not null,
    client_app_version text,
    os_version text,
    locale text,
    push_provider text,
    push_token bytea,
    push_token_hash bytea,
    push_token_updated_at timestamptz(3),
    last_seen_at timestamptz(3),
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint devices_devices_tenant_id_user_id_device_id_key unique (tenant_id, user_id, device_id),
    constraint devices_devices_tenant_id_user_id_fkey foreign key (tenant_id, user_id)
        references auth_users (tenant_id, id) on delete cascade,
    constraint devices_devices_platform_check check (platform in ('ios', 'android', 'web')),
    constraint devices_devices_push_token_check check (
        (push_token is null) = (push_token_hash is null) and (push_token is null or deleted_at is null))
);
create unique index devices_devices_tenant_id_push_provider_push_token_hash_key
    on devices_devices (tenant_id, push_provider, push_token_hash) where deleted_at is null and push_token_hash is not null;
create index devices_devices_tenant_id_user_id_last_seen_at_idx
    on devices_devices (tenant_id, user_id, last_seen_at desc nulls last, id) where deleted_at is null;

call app_secure_table('devices_devices');
