create table alerts_alerts (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    kind text not null,
    family text not null,
    urgency_rank smallint not null,
    subject_type text not null,
    subject_id uuid not null,
    subject_name text not null,
    identity_key text not null,
    window_id uuid,
    job_site_id uuid,
    occurred_at timestamptz(3) not null,
    expires_at timestamptz(3) not null,
    resolved_at timestamptz(3),
    acknowledged_at timestamptz(3),
    acknowledged_by uuid,
    acknowledgement text,
    escalated_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint alerts_alerts_kind_check check (kind in ('subject_overlap_same_site', 'subject_overlap_different_sites',
        'subject_unavailable', 'subject_inactive', 'job_site_closed', 'non_working_day')),
    constraint alerts_alerts_urgency_rank_check check (urgency_rank between 0 and 2),
    constraint alerts_alerts_acknowledged_by_check check (acknowledged_at is not null or (acknowledged_by is null and acknowledgement is null))
);
-- One alert for each conflict, while it is not resolved.
create unique index alerts_alerts_identity_idx
    on alerts_alerts (tenant_id, organization_id, subject_type, subject_id, family, identity_key) where resolved_at is null;
-- The list of open alerts in its order, for some organizations and for a whole tenant.
create index alerts_alerts_open_idx
    on alerts_alerts (tenant_id, organization_id, urgency_rank, occurred_at desc, id desc) include (expires_at) where resolved_at is null;
create index alerts_alerts_open_of_tenant_idx
    on alerts_alerts (tenant_id, urgency_rank, occurred_at desc, id desc) include (expires_at) where resolved_at is null;
create index alerts_alerts_tenant_id_organization_id_resolved_at_idx on alerts_alerts (tenant_id, organization_id, resolved_at desc);
create index alerts_alerts_tenant_id_urgency_rank_occurred_at_idx on alerts_alerts (tenant_id, urgency_rank, occurred_at desc, id desc);
-- What the schedules look for, over all tenants.
create index alerts_alerts_expires_at_idx on alerts_alerts (expires_at) where resolved_at is null;
create index alerts_alerts_resolved_at_idx on alerts_alerts (resolved_at) where resolved_at is not null;
create index alerts_alerts_escalation_idx on alerts_alerts (occurred_at)
    where resolved_at is null and urgency_rank = 0 and acknowledged_at is null and escalated_at is null;

create table alerts_assignments (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    alert_id uuid not null,
    assignment_id uuid not null,
    job_site_id uuid not null,
    start_at timestamptz(3) not null,
    end_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint alerts_assignments_tenant_id_alert_id_assignment_id_key unique (tenant_id, alert_id, assignment_id),
    constraint alerts_assignments_tenant_id_alert_id_fkey foreign key (tenant_id, alert_id)
        references alerts_alerts (tenant_id, id) on delete cascade
);
create index alerts_assignments_tenant_id_assignment_id_idx on alerts_assignments (tenant_id, assignment_id);
create index alerts_assignments_tenant_id_job_site_id_idx on alerts_assignments (tenant_id, job_site_id);

create table alerts_reads (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    alert_id uuid not null,
    user_id uuid not null,
    read_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint alerts_reads_tenant_id_alert_id_user_id_key unique (tenant_id, alert_id, user_id),
    constraint alerts_reads_tenant_id_alert_id_fkey foreign key (tenant_id, alert_id)
        references alerts_alerts (tenant_id, id) on delete cascade
);
create index alerts_reads_tenant_id_user_id_alert_id_idx on alerts_reads (tenant_id, user_id, alert_id);

call app_secure_table('alerts_alerts');
call app_secure_table('alerts_assignments');
call app_secure_table('alerts_reads');
