-- Numbers of alerts with `resolved_at is null`: the number of an organization and kind is the sum of its rows. A statement adds rows and changes
-- none, so that concurrent transactions of an organization do not wait for each other; the schedule `alerts.sweep` joins the rows.
create table alerts_counts (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    kind text not null,
    alerts bigint not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id)
);
create index alerts_counts_tenant_id_organization_id_kind_idx on alerts_counts (tenant_id, organization_id, kind) include (alerts);
call app_secure_table('alerts_counts');

insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
select tenant_id, gen_random_uuid(), organization_id, kind, count(*), now(), now()
from alerts_alerts where resolved_at is null group by tenant_id, organization_id, kind;

create function alerts_count() returns trigger
language plpgsql
as $$
begin
    if tg_op = 'INSERT' then
        insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
        select a.tenant_id, gen_random_uuid(), a.organization_id, a.kind, count(*), max(a.updated_at), max(a.updated_at)
        from added a where a.resolved_at is null group by a.tenant_id, a.organization_id, a.kind;
    elsif tg_op = 'DELETE' then
        insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
        select r.tenant_id, gen_random_uuid(), r.organization_id, r.kind, -count(*), max(r.updated_at), max(r.updated_at)
        from removed r where r.resolved_at is null group by r.tenant_id, r.organization_id, r.kind;
    else
        insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
        select c.tenant_id, gen_random_uuid(), c.organization_id, c.kind, sum(c.alerts), max(c.updated_at), max(c.updated_at)
        from (
            select a.tenant_id, a.organization_id, a.kind, a.updated_at, 1 as alerts from added a where a.resolved_at is null
            union all
            select r.tenant_id, r.organization_id, r.kind, r.updated_at, -1 from removed r where r.resolved_at is null
        ) c
        group by c.tenant_id, c.organization_id, c.kind having sum(c.alerts) <> 0;
    end if;
    return null;
end
$$;
create trigger alerts_count_added after insert on alerts_alerts
    referencing new table as added for each statement execute function alerts_count();
create trigger alerts_count_changed after update on alerts_alerts
    referencing old table as removed new table as added for each statement execute function alerts_count();
create trigger alerts_count_removed after delete on alerts_alerts
    referencing old table as removed for each statement execute function alerts_count();

-- Alerts that have ended and that the schedule has not resolved yet.
create index alerts_alerts_tenant_id_expires_at_idx
    on alerts_alerts (tenant_id, expires_at) include (organization_id, kind) where resolved_at is null;

do $$
begin
    execute format('alter function alerts_count() set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
