-- What row-level security sees: the tenant of the connection, or everything in the system scope.
create function app_tenant_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.tenant_id', true), '')::uuid;

create function app_is_system() returns boolean
language sql stable parallel safe
return coalesce(current_setting('app.scope', true), '') = 'system';

-- Forced row-level security with the one policy of the platform.
create procedure app_secure_table(table_name regclass)
language plpgsql
as $$
begin
    execute format('alter table %s enable row level security', table_name);
    execute format('alter table %s force row level security', table_name);
    execute format(
        'create policy tenant_isolation on %s using (tenant_id = (select app_tenant_id()) or (select app_is_system()))',
        table_name);
end
$$;

-- Commit numbers of a tenant; the last lock that a command takes.
create table core_event_streams (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    last_seq bigint not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_event_streams_tenant_id_name_key unique (tenant_id, name)
);

create table core_outbox_events (
    tenant_id uuid not null,
    id uuid not null,
    seq bigint not null,
    organization_id uuid,
    name text not null,
    payload jsonb not null,
    browser boolean not null,
    feature text,
    log_id uuid,
    request_id text,
    occurred_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_outbox_events_tenant_id_seq_key unique (tenant_id, seq)
);

create table core_idempotency_keys (
    tenant_id uuid not null,
    id uuid not null,
    actor_kind text not null,
    actor_id uuid not null,
    route text not null,
    key text not null,
    body_hash bytea not null,
    status smallint not null,
    headers jsonb not null,
    body jsonb not null,
    expires_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_idempotency_keys_tenant_id_actor_kind_actor_id_route_key_key
        unique (tenant_id, actor_kind, actor_id, route, key)
);
create index core_idempotency_keys_expires_at_idx on core_idempotency_keys (expires_at);

-- Windows of the shared rate limits. They belong to no tenant (a key is a hash of addresses and accounts) and may be lost in a crash.
create unlogged table core_rate_limits (
    key bytea primary key,
    points integer not null,
    window_ends_at timestamptz(3) not null
);

create table audit_action_logs (
    tenant_id uuid not null,
    id uuid not null,
    seq bigint not null,
    organization_id uuid,
    actor_kind text not null,
    actor_id uuid,
    actor_name text,
    command_id text not null,
    action_type text not null,
    action_label text not null,
    source text not null,
    resource_kind text,
    resource_id text,
    parent_resource_kind text,
    parent_resource_id text,
    related text[] not null,
    touched jsonb,
    execution_state text not null,
    version_before bigint,
    version_after bigint,
    undo_secret bytea,
    undo_expires_at timestamptz(3),
    undone_seq bigint,
    source_log_id uuid,
    history_action text,
    snapshot_before jsonb,
    snapshot_after jsonb,
    changes jsonb,
    context jsonb,
    changed_fields text[] not null,
    request_id text,
    progress_job_id uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint audit_action_logs_action_type_check check (action_type in ('create', 'edit', 'delete', 'assign')),
    constraint audit_action_logs_source_check check (source in ('ui', 'api_key', 'system', 'job', 'undo', 'redo')),
    constraint audit_action_logs_execution_state_check check (execution_state in ('done', 'undone', 'redone', 'failed'))
) partition by range (id);
create table audit_action_logs_default partition of audit_action_logs default;

create index audit_action_logs_tenant_id_created_at_idx on audit_action_logs (tenant_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_organization_id_idx
    on audit_action_logs (tenant_id, organization_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_actor_id_idx on audit_action_logs (tenant_id, actor_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_resource_idx
    on audit_action_logs (tenant_id, resource_kind, resource_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_parent_resource_idx
    on audit_action_logs (tenant_id, parent_resource_kind, parent_resource_id, created_at desc, id desc);
create index audit_action_logs_related_idx on audit_action_logs using gin (related);
create index audit_action_logs_changed_fields_idx on audit_action_logs using gin (changed_fields);
create index audit_action_logs_undone_idx
    on audit_action_logs (tenant_id, actor_id, undone_seq desc) where execution_state = 'undone';
create index audit_action_logs_progress_job_id_idx
    on audit_action_logs (tenant_id, progress_job_id) where progress_job_id is not null;

create table audit_resource_versions (
    tenant_id uuid not null,
    id uuid not null,
    resource_kind text not null,
    resource_id text not null,
    version bigint not null,
    max_version bigint not null,
    last_log_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint audit_resource_versions_tenant_id_resource_key unique (tenant_id, resource_kind, resource_id)
);

call app_secure_table('core_event_streams');
call app_secure_table('core_outbox_events');
call app_secure_table('core_idempotency_keys');
call app_secure_table('audit_action_logs');
call app_secure_table('audit_resource_versions');
call app_secure_table('audit_action_logs_default');

-- Makes the partitions of the action log for this month and the next ones. The bounds are the lowest UUIDv7 of a month's first
-- millisecond, so a look-up by id touches one partition. Runs with the owner's rights: the application owns nothing.
create function audit_make_partitions(months integer) returns integer
language plpgsql
security definer
set search_path from current
as $$
declare
    month date := date_trunc('month', now() at time zone 'utc')::date;
    made integer := 0;
    bounds text[];
    name text;
begin
    if months < 0 or months > 24 then
        raise exception 'months must be between 0 and 24';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit_make_partitions'));
    for step in 0..months loop
        name := 'audit_action_logs_' || to_char(month, 'YYYYMM');
        if to_regclass(name) is null then
            bounds := array(
                select lpad(to_hex((extract(epoch from (month + shift)::timestamp) * 1000)::bigint), 12, '0')
                from unnest(array[interval '0', interval '1 month']) as shift);
            if not exists (
                select 1 from audit_action_logs_default
                where id >= (bounds[1] || '00000000000000000000')::uuid and id < (bounds[2] || '00000000000000000000')::uuid)
            then
                execute format(
                    'create table %I partition of audit_action_logs for values from (%L) to (%L)',
                    name, (bounds[1] || '00000000000000000000')::uuid, (bounds[2] || '00000000000000000000')::uuid);
                execute format('call app_secure_table(%L)', name);
                made := made + 1;
            end if;
        end if;
        month := (month + interval '1 month')::date;
    end loop;
    return made;
end
$$;
revoke execute on function audit_make_partitions(integer) from public;
