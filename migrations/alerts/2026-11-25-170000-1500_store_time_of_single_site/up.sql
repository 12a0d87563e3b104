-- The time from which the assignments of an overlap that go on are all on one job site, if it comes before the end of the overlap. Readers show the
-- other kind from then on; the schedule stores it later.
alter table alerts_alerts add column single_site_at timestamptz(3);

update alerts_alerts a set single_site_at = s.single_site_at
from (
    select tenant_id, alert_id, (array_agg(last_end order by last_end desc))[2] as single_site_at
    from (
        select tenant_id, alert_id, job_site_id, max(end_at) as last_end from alerts_assignments group by tenant_id, alert_id, job_site_id
    ) sites
    group by tenant_id, alert_id
) s
where s.tenant_id = a.tenant_id and s.alert_id = a.id and a.kind = 'subject_overlap_different_sites' and a.resolved_at is null
    and s.single_site_at < a.expires_at;

create index alerts_alerts_single_site_at_idx on alerts_alerts (single_site_at)
    where resolved_at is null and kind = 'subject_overlap_different_sites';
