create table progress_jobs (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    job_type text not null,
    name text not null,
    description text,
    status text not null,
    total_count integer not null,
    processed_count integer not null,
    succeeded_count integer not null,
    skipped_count integer not null,
    failed_count integer not null,
    cancellable boolean not null,
    cancel_requested_at timestamptz(3),
    cancelled_by uuid,
    actor_kind text not null,
    actor_id uuid,
    actor_name text,
    started_at timestamptz(3),
    heartbeat_at timestamptz(3),
    finished_at timestamptz(3),
    error_message text,
    meta jsonb,
    -- What the job was asked to do, so that it can be asked again.
    parameters jsonb not null,
    -- Items before this position are taken one at a time: one of them has brought a worker down.
    careful_until integer not null default 0,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint progress_jobs_status_check
        check (status in ('pending', 'running', 'completed', 'completed_with_errors', 'failed', 'cancelled')),
    constraint progress_jobs_actor_kind_check check (actor_kind in ('user', 'api_key', 'system')),
    constraint progress_jobs_counts_check check (
        least(total_count, processed_count, succeeded_count, skipped_count, failed_count) >= 0
        and processed_count = succeeded_count + skipped_count + failed_count and processed_count <= total_count)
);
create index progress_jobs_tenant_id_created_at_idx on progress_jobs (tenant_id, created_at desc, id desc);
create index progress_jobs_tenant_id_actor_id_created_at_idx on progress_jobs (tenant_id, actor_id, created_at desc, id desc);
create index progress_jobs_tenant_id_unfinished_idx on progress_jobs (tenant_id) where status in ('pending', 'running');
create index progress_jobs_finished_at_idx on progress_jobs (finished_at) where finished_at is not null;

create table progress_job_items (
    tenant_id uuid not null,
    id uuid not null,
    job_id uuid not null,
    position integer not null,
    resource_kind text not null,
    resource_id uuid not null,
    state text not null,
    log_id uuid,
    error_status smallint,
    error_code text,
    error_message text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint progress_job_items_job_id_fkey foreign key (tenant_id, job_id) references progress_jobs on delete cascade,
    constraint progress_job_items_position_key unique (tenant_id, job_id, position),
    constraint progress_job_items_resource_id_key unique (tenant_id, job_id, resource_id),
    constraint progress_job_items_state_check check (state in ('pending', 'succeeded', 'skipped', 'failed')),
    constraint progress_job_items_error_message_check check (length(error_message) <= 500)
);
create index progress_job_items_tenant_id_job_id_state_position_idx on progress_job_items (tenant_id, job_id, state, position);

alter table core_jobs add constraint core_jobs_progress_job_id_fkey
    foreign key (tenant_id, progress_job_id) references progress_jobs on delete set null (progress_job_id);
create index core_jobs_tenant_id_progress_job_id_idx on core_jobs (tenant_id, progress_job_id) where progress_job_id is not null;

call app_secure_table('progress_jobs');
call app_secure_table('progress_job_items');
