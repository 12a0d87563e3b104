-- A principal that sees an event on the stream whatever it holds.
alter table core_outbox_events add audience_id uuid;

-- How far each subscriber came in each tenant.
create table core_event_cursors (
    tenant_id uuid not null,
    id uuid not null,
    subscriber text not null,
    last_seq bigint not null,
    attempt integer not null,
    next_at timestamptz(3) not null,
    lease_owner uuid,
    lease_until timestamptz(3),
    last_error text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_event_cursors_tenant_id_subscriber_key unique (tenant_id, subscriber)
);

-- Events that a subscriber was given up on.
create table core_event_dead_letters (
    tenant_id uuid not null,
    id uuid not null,
    subscriber text not null,
    event_id uuid not null,
    seq bigint not null,
    event jsonb not null,
    attempts integer not null,
    error text not null,
    resolved_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_event_dead_letters_tenant_id_subscriber_event_id_key unique (tenant_id, subscriber, event_id)
);
create index core_event_dead_letters_created_at_idx on core_event_dead_letters (created_at);

-- Tenants that are new to the subscribers, and events that are old.
create index core_event_streams_created_at_idx on core_event_streams (created_at);
create index core_outbox_events_occurred_at_idx on core_outbox_events (occurred_at);

call app_secure_table('core_event_cursors');
call app_secure_table('core_event_dead_letters');
create policy event_queue on core_event_cursors using ((select app_is_queue()));
create policy event_queue on core_event_streams for select using ((select app_is_queue()));
