create table dispatch_job_sites (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    name text not null,
    code text,
    address text,
    latitude double precision,
    longitude double precision,
    status text not null,
    start_date date,
    end_date_exclusive date,
    notes text,
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint dispatch_job_sites_status_check check (status in ('planned', 'active', 'closed')),
    constraint dispatch_job_sites_dates_check check (end_date_exclusive > start_date)
);
create unique index dispatch_job_sites_tenant_id_organization_id_code_idx
    on dispatch_job_sites (tenant_id, organization_id, lower(code)) where deleted_at is null;
create index dispatch_job_sites_tenant_id_name_idx on dispatch_job_sites (tenant_id, name, id) where deleted_at is null;
create index dispatch_job_sites_tenant_id_created_at_idx on dispatch_job_sites (tenant_id, created_at, id) where deleted_at is null;
create index dispatch_job_sites_tenant_id_organization_id_name_idx
    on dispatch_job_sites (tenant_id, organization_id, name, id) where deleted_at is null;

call app_secure_table('dispatch_job_sites');
call app_search_table('dispatch_job_sites', 'dispatch.job_site', 'id', 'name', 'code');

create table dispatch_resources (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    type text not null,
    name text not null,
    code text,
    user_id uuid,
    is_active boolean not null,
    notes text,
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    -- The target of the foreign key of assignments, whose subjects have a type.
    constraint dispatch_resources_tenant_id_type_id_key unique (tenant_id, type, id),
    constraint dispatch_resources_type_check check (type in ('worker', 'equipment', 'vehicle')),
    constraint dispatch_resources_user_id_check check (user_id is null or type = 'worker')
);
create unique index dispatch_resources_tenant_id_organization_id_type_code_idx
    on dispatch_resources (tenant_id, organization_id, type, lower(code)) where deleted_at is null;
create unique index dispatch_resources_tenant_id_organization_id_user_id_idx
    on dispatch_resources (tenant_id, organization_id, user_id) where deleted_at is null;
create index dispatch_resources_tenant_id_name_idx on dispatch_resources (tenant_id, name, id) where deleted_at is null;
create index dispatch_resources_tenant_id_created_at_idx on dispatch_resources (tenant_id, created_at, id) where deleted_at is null;
create index dispatch_resources_tenant_id_organization_id_name_idx
    on dispatch_resources (tenant_id, organization_id, name, id) where deleted_at is null;

call app_secure_table('dispatch_resources');
call app_search_table('dispatch_resources', 'dispatch.resource', 'id', 'name', 'code');

create table dispatch_assignments (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    job_site_id uuid not null,
    subject_type text not null,
    subject_id uuid not null,
    start_at timestamptz(3) not null,
    end_at timestamptz(3) not null,
    start_date date,
    end_date_exclusive date,
    status text not null,
    note text,
    reminded_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint dispatch_assignments_tenant_id_job_site_id_fkey
        foreign key (tenant_id, job_site_id) references dispatch_job_sites (tenant_id, id),
    constraint dispatch_assignments_tenant_id_subject_type_subject_id_fkey
        foreign key (tenant_id, subject_type, subject_id) references dispatch_resources (tenant_id, type, id),
    constraint dispatch_assignments_interval_check check (end_at > start_at),
    constraint dispatch_assignments_dates_check
        check (end_date_exclusive > start_date and (start_date is null) = (end_date_exclusive is null)),
    constraint dispatch_assignments_status_check check (status in ('planned', 'confirmed', 'cancelled', 'completed'))
);
create index dispatch_assignments_live_idx on dispatch_assignments (tenant_id, subject_type, subject_id, start_at)
    include (end_at, job_site_id) where status in ('planned', 'confirmed');
create index dispatch_assignments_tenant_id_organization_id_start_at_idx on dispatch_assignments (tenant_id, organization_id, start_at, id);
create index dispatch_assignments_tenant_id_start_at_idx on dispatch_assignments (tenant_id, start_at, id);
create index dispatch_assignments_tenant_id_job_site_id_start_at_idx on dispatch_assignments (tenant_id, job_site_id, start_at);
create index dispatch_assignments_tenant_id_subject_id_start_at_idx on dispatch_assignments (tenant_id, subject_type, subject_id, start_at);
-- What a new time zone moves.
create index dispatch_assignments_dates_idx on dispatch_assignments (tenant_id, organization_id, start_date, end_date_exclusive)
    where start_date is not null;
-- What reminders look at, over all tenants.
create index dispatch_assignments_reminders_idx on dispatch_assignments (start_at, tenant_id)
    where reminded_at is null and subject_type = 'worker' and status in ('planned', 'confirmed');

call app_secure_table('dispatch_assignments');
