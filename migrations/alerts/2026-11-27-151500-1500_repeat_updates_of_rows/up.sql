-- The two migrations before this one read and changed rows without the scope of all tenants. Row-level security is forced, for the owner too: in a
-- database with alerts they found none, so the trigger has subtracted alerts from numbers that were never stored.

-- What writes the numbers has written alerts before, in the same transaction. So no other session adds numbers while they are stored again.
lock table alerts_alerts in share row exclusive mode;

set local app.scope = 'system';

delete from alerts_counts;
insert into alerts_counts (tenant_id, id, organization_id, kind, alerts, created_at, updated_at)
select a.tenant_id, gen_random_uuid(), a.organization_id, a.kind, count(*), max(a.updated_at), max(a.updated_at)
from alerts_alerts a where a.resolved_at is null group by a.tenant_id, a.organization_id, a.kind;

update alerts_alerts a set single_site_at = s.single_site_at
from (
    select tenant_id, alert_id, (array_agg(last_end order by last_end desc))[2] as single_site_at
    from (
        select tenant_id, alert_id, job_site_id, max(end_at) as last_end from alerts_assignments group by tenant_id, alert_id, job_site_id
    ) sites
    group by tenant_id, alert_id
) s
where s.tenant_id = a.tenant_id and s.alert_id = a.id and a.kind = 'subject_overlap_different_sites' and a.resolved_at is null
    and s.single_site_at < a.expires_at and a.single_site_at is distinct from s.single_site_at;

set local app.scope = '';
