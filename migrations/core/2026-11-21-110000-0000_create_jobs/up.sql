-- Whoever only hands out jobs sees the job tables of all tenants, and nothing else.
create function app_is_queue() returns boolean
language sql stable parallel safe
return coalesce(current_setting('app.scope', true), '') = 'queue';

create table core_jobs (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    kind text not null,
    payload jsonb not null,
    actor_kind text not null,
    actor_id uuid,
    selection jsonb not null,
    priority smallint not null,
    run_at timestamptz(3) not null,
    state text not null,
    attempt integer not null,
    max_attempts integer not null,
    cursor bigint not null,
    lease_owner uuid,
    lease_until timestamptz(3),
    dedupe_key text,
    progress_job_id uuid,
    last_error text,
    finished_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_jobs_actor_kind_check check (actor_kind in ('user', 'api_key', 'system')),
    constraint core_jobs_state_check check (state in ('queued', 'running', 'done', 'dead', 'cancelled'))
);
create unique index core_jobs_tenant_id_kind_dedupe_key_key
    on core_jobs (tenant_id, kind, dedupe_key) where state in ('queued', 'running');
create index core_jobs_tenant_id_priority_run_at_idx
    on core_jobs (tenant_id, priority, run_at, id) where state in ('queued', 'running');
create index core_jobs_finished_at_idx on core_jobs (finished_at) where finished_at is not null;

-- Tenants take turns: the one whose last turn is the longest ago comes next.
create table core_job_tenants (
    tenant_id uuid not null,
    id uuid not null,
    last_claim_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_job_tenants_tenant_id_key unique (tenant_id)
);

call app_secure_table('core_jobs');
call app_secure_table('core_job_tenants');
create policy job_queue on core_jobs using ((select app_is_queue()));
create policy job_queue on core_job_tenants using ((select app_is_queue()));
