-- Resources, users and organizations belong to other modules: their ids have no foreign keys.

-- The key of the advisory lock of an organization's time zone: transactions that derive instants hold it shared, one that replaces the zone
-- holds it alone.
create function calendar_zone_lock(tenant uuid, organization uuid) returns bigint
    language sql immutable
    return hashtextextended('calendar.zone' || tenant::text || organization::text, 0);

create table calendar_reasons (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    resource_type text not null,
    code text not null,
    label text not null,
    sort_order integer not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint calendar_reasons_tenant_id_resource_type_code_key unique (tenant_id, resource_type, code),
    constraint calendar_reasons_resource_type_check check (resource_type in ('worker', 'equipment', 'vehicle')),
    constraint calendar_reasons_code_check check (code ~ '^[a-z][a-z0-9_]{0,49}$')
);

create table calendar_working_calendars (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    time_zone text not null,
    off_weekdays text[] not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint calendar_working_calendars_organization_id_check check (organization_id = id)
);

create table calendar_holidays (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    calendar_id uuid not null,
    date date not null,
    name text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    -- Checked when a statement ends, so that one statement can exchange the dates of two holidays.
    constraint calendar_holidays_tenant_id_calendar_id_date_key unique (tenant_id, calendar_id, date) deferrable,
    constraint calendar_holidays_tenant_id_calendar_id_fkey
        foreign key (tenant_id, calendar_id) references calendar_working_calendars (tenant_id, id) on delete cascade,
    constraint calendar_holidays_name_check check (char_length(name) <= 120)
);

create table calendar_series (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    resource_type text not null,
    resource_id uuid not null,
    start_date date not null,
    end_date_exclusive date not null,
    rrule text not null,
    ends_on date,
    exdates date[] not null,
    effective_from date not null,
    reason_code text not null,
    note text,
    created_until date not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint calendar_series_end_date_exclusive_check check (end_date_exclusive > start_date),
    constraint calendar_series_resource_type_check check (resource_type in ('worker', 'equipment', 'vehicle')),
    constraint calendar_series_rrule_check check (char_length(rrule) between 1 and 500),
    constraint calendar_series_note_check check (char_length(note) <= 500)
);
create index calendar_series_tenant_id_organization_id_idx on calendar_series (tenant_id, organization_id);
create index calendar_series_tenant_id_created_until_idx on calendar_series (tenant_id, created_until, id);

create table calendar_windows (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    resource_type text not null,
    resource_id uuid not null,
    start_date date not null,
    end_date_exclusive date not null,
    start_at timestamptz(3) not null,
    end_at timestamptz(3) not null,
    reason_code text not null,
    note text,
    series_id uuid,
    series_date date,
    is_exception boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint calendar_windows_tenant_id_series_id_series_date_key unique (tenant_id, series_id, series_date),
    constraint calendar_windows_tenant_id_series_id_fkey
        foreign key (tenant_id, series_id) references calendar_series (tenant_id, id) on delete cascade,
    constraint calendar_windows_end_date_exclusive_check check (end_date_exclusive > start_date),
    constraint calendar_windows_resource_type_check check (resource_type in ('worker', 'equipment', 'vehicle')),
    constraint calendar_windows_series_date_check check ((series_id is null) = (series_date is null)),
    constraint calendar_windows_note_check check (char_length(note) <= 500)
);
create index calendar_windows_tenant_id_resource_type_resource_id_start_at_idx
    on calendar_windows (tenant_id, resource_type, resource_id, start_at);
create index calendar_windows_tenant_id_organization_id_start_date_idx on calendar_windows (tenant_id, organization_id, start_date);
-- The order of the list.
create index calendar_windows_tenant_id_start_at_id_idx on calendar_windows (tenant_id, start_at, id);

create table calendar_feeds (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    user_id uuid not null,
    name text not null,
    token_hash bytea not null,
    filter jsonb not null,
    last_used_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint calendar_feeds_tenant_id_token_hash_key unique (tenant_id, token_hash),
    constraint calendar_feeds_name_check check (char_length(name) between 1 and 80)
);
create index calendar_feeds_token_hash_idx on calendar_feeds (token_hash);
create index calendar_feeds_tenant_id_user_id_idx on calendar_feeds (tenant_id, user_id);

call app_secure_table('calendar_reasons');
call app_secure_table('calendar_working_calendars');
call app_secure_table('calendar_holidays');
call app_secure_table('calendar_series');
call app_secure_table('calendar_windows');
call app_secure_table('calendar_feeds');

-- The reasons are the same for all tenants.
create policy global_rows on calendar_reasons for select using (tenant_id = '00000000-0000-0000-0000-000000000000');

do $$
begin
    perform set_config('app.scope', 'system', true);
    insert into calendar_reasons (tenant_id, id, organization_id, resource_type, code, label, sort_order, created_at, updated_at)
    select
        '00000000-0000-0000-0000-000000000000',
        ('019aba00-0000-7000-8000-' || lpad((row_number() over ())::text, 12, '0'))::uuid,
        '00000000-0000-0000-0000-000000000000',
        reason.resource_type, reason.code, reason.label, reason.sort_order, '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'
    from (
        values
            ('worker', 'vacation', 'Vacation', 1),
            ('worker', 'sick_leave', 'Sick leave', 2),
            ('worker', 'personal_leave', 'Personal leave', 3),
            ('worker', 'training', 'Training', 4),
            ('worker', 'public_holiday', 'Public holiday', 5),
            ('worker', 'other', 'Other', 6),
            ('equipment', 'maintenance', 'Maintenance', 1),
            ('equipment', 'breakdown', 'Breakdown', 2),
            ('equipment', 'inspection', 'Inspection', 3),
            ('equipment', 'in_use_elsewhere', 'In use elsewhere', 4),
            ('equipment', 'rental_return', 'Rental return', 5),
            ('equipment', 'other', 'Other', 6),
            ('vehicle', 'maintenance', 'Maintenance', 1),
            ('vehicle', 'breakdown', 'Breakdown', 2),
            ('vehicle', 'inspection', 'Inspection', 3),
            ('vehicle', 'accident', 'Accident', 4),
            ('vehicle', 'registration_expired', 'Registration expired', 5),
            ('vehicle', 'other', 'Other', 6)
    ) as reason (resource_type, code, label, sort_order);
    perform set_config('app.scope', '', true);
end
$$;
