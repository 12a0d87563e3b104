-- The name of the key with which browsers subscribed: a subscription of another key has ended.
alter table devices_devices add column push_key text;

-- Push messages of the last days. Each is sent by the job of its batch.
create table devices_push_deliveries (
    tenant_id uuid not null,
    id uuid not null,
    notification_id uuid,
    device_row_id uuid not null,
    user_id uuid not null,
    batch_id uuid not null,
    provider text not null,
    token_last4 text,
    payload jsonb not null,
    status text not null,
    attempts integer not null,
    due_at timestamptz(3) not null,
    error text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint devices_push_deliveries_tenant_id_notification_id_device_key unique (tenant_id, notification_id, device_row_id),
    constraint devices_push_deliveries_tenant_id_device_row_id_fkey foreign key (tenant_id, device_row_id)
        references devices_devices (tenant_id, id) on delete cascade,
    constraint devices_push_deliveries_status_check check (status in ('pending', 'sent', 'failed', 'skipped'))
);
create index devices_push_deliveries_pending_idx
    on devices_push_deliveries (tenant_id, batch_id, due_at, id) where status = 'pending';
create index devices_push_deliveries_tenant_id_device_row_id_idx on devices_push_deliveries (tenant_id, device_row_id);
create index devices_push_deliveries_created_at_idx on devices_push_deliveries (created_at);

-- The device of all tenants that registered a token last; rows of the platform. A device has one row at most.
create table devices_push_token_owners (
    tenant_id uuid not null,
    id uuid not null,
    provider text not null,
    fingerprint bytea not null,
    owner_tenant_id uuid not null,
    device_row_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint devices_push_token_owners_tenant_id_provider_fingerprint_key unique (tenant_id, provider, fingerprint),
    constraint devices_push_token_owners_tenant_id_device_key unique (tenant_id, owner_tenant_id, device_row_id)
);

call app_secure_table('devices_push_deliveries');
call app_secure_table('devices_push_token_owners');
