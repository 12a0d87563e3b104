//! Statements about subjects. Their first parameters are those of [`about`].
//!
//! An assignment takes at most 366 days and a window at most 1096, so that look-ups of those that meet an interval are ranges of an index. The start of such
//! a range is computed beside the table: row-level security keeps calculations out of the conditions of an index.
//!
//! The arrays are read by sub-queries, so that their lengths do not count for the plan: PostgreSQL keeps one plan then instead of making one for each execution, which
//! costs more than most of these statements.

use backoffice_calendar::Subject;
use backoffice_core::db::Prepared;
use diesel::pg::Pg;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Text, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

use crate::recompute::Moment;

/// Joined with each statement about subjects: their organizations, types and ids, numbered from 1.
macro_rules! subjects {
    ($($rest:expr),+) => {
        concat!(
            "with recursive s as ( \
                 select * from unnest((select $2), (select $3), (select $4)) with ordinality as s (organization_id, type, id, number)) ",
            $($rest),+
        )
    };
}

/// The condition of a live assignment `a` of the subject `s`.
macro_rules! live {
    () => {
        "a.tenant_id = $1 and a.subject_type = s.type and a.subject_id = s.id and a.organization_id = s.organization_id \
         and a.status in ('planned', 'confirmed') and a.end_at > $5 "
    };
}

/// The columns of an unresolved alert `a` with its assignments `m`.
macro_rules! alert {
    () => {
        "a.id, a.kind, a.identity_key, a.subject_name, a.occurred_at, a.expires_at, m.* "
    };
}

/// Joins the assignments of an alert `a`.
macro_rules! join_shown {
    () => {
        "cross join lateral (select coalesce(array_agg(x.assignment_id), '{}') as assignments, \
             coalesce(array_agg(x.job_site_id), '{}') as job_sites, coalesce(array_agg(x.start_at), '{}') as starts, \
             coalesce(array_agg(x.end_at), '{}') as ends \
             from alerts_assignments x where x.tenant_id = $1 and x.alert_id = a.id) m "
    };
}

/// The subjects with their resources. The first subject of each organization has its working calendar besides, so that one statement reads both.
pub(super) const SUBJECTS: &str = "\
with s as ( \
    select *, row_number() over (partition by organization_id order by number) = 1 as is_first \
    from unnest((select $2), (select $3), (select $4)) with ordinality as s (organization_id, type, id, number)) \
select s.number, coalesce(r.name, '') as name, coalesce(not r.is_active or r.deleted_at is not null, false) as is_inactive, \
    c.time_zone, c.off_weekdays, \
    array(select h.date from calendar_holidays h where h.tenant_id = $1 and h.calendar_id = c.id) as holidays \
from s left join dispatch_resources r on r.tenant_id = $1 and r.id = s.id \
left join calendar_working_calendars c on c.tenant_id = $1 and c.id = s.organization_id and s.is_first \
where $5 is not null";

/// The job sites `$2`.
pub(super) const SITES: &str = "\
select id, (status = 'closed' or deleted_at is not null) as is_closed, start_date, end_date_exclusive \
from dispatch_job_sites where tenant_id = $1 and id = any(array(select unnest($2::uuid[])))";

/// All live assignments.
pub(super) const ASSIGNMENTS: &str = subjects!(
    "select s.number, a.id, a.job_site_id, a.start_at, a.end_at from s cross join lateral ( \
         select * from dispatch_assignments a where a.start_at > $5 - interval '367 days' and ",
    live!(),
    ") a"
);

/// All windows that live assignments may meet: those that begin before the last of them has ended. Which of them they meet is found by a sweep, because
/// a look-up for each window would read the assignments of the year before it. The ends are materialized, because PostgreSQL would look for the last
/// assignment again for each window; no window is read of a subject without one.
pub(super) const WINDOWS: &str = subjects!(
    ", ends as materialized ( \
         select s.*, (select max(a.start_at) + interval '367 days' from dispatch_assignments a where ",
    live!(),
    ") as before from s) \
     select s.number, w.id, w.start_at, w.end_at from ends s cross join lateral ( \
         select * from calendar_windows w \
         where w.tenant_id = $1 and w.resource_type = s.type and w.resource_id = s.id and w.organization_id = s.organization_id \
             and w.start_at > $5 - interval '1098 days' and w.end_at > $5 and w.start_at < s.before \
     ) w"
);

/// All alerts that are not resolved.
pub(super) const ALERTS: &str = subjects!(
    "select s.number, ",
    alert!(),
    "from s join alerts_alerts a on a.tenant_id = $1 and a.organization_id = s.organization_id and a.subject_type = s.type \
         and a.subject_id = s.id and a.resolved_at is null and $5 is not null ",
    join_shown!()
);

/// The live ones of the assignments `$6`, `$7` (numbers of subjects and ids), with their job sites, the windows that they meet, and whether
/// they meet other live assignments.
pub(super) const CHANGED: &str = subjects!(
    "select s.number, a.id, a.job_site_id, a.start_at, a.end_at, \
         coalesce(j.status = 'closed' or j.deleted_at is not null, false) as is_closed, j.start_date, j.end_date_exclusive, \
         exists(select from dispatch_assignments o \
             where o.tenant_id = $1 and o.subject_type = s.type and o.subject_id = s.id and o.organization_id = s.organization_id \
                 and o.status in ('planned', 'confirmed') and o.start_at < a.end_at and o.start_at > e.assignments_from \
                 and o.end_at > a.start_at and o.end_at > $5 and o.id <> a.id) as has_neighbours, \
         array(select w.id from calendar_windows w \
             where w.tenant_id = $1 and w.resource_type = s.type and w.resource_id = s.id and w.organization_id = s.organization_id \
                 and w.start_at < a.end_at and w.start_at > e.windows_from and w.end_at > a.start_at \
                 and w.end_at > $5) as windows \
     from unnest((select $6), (select $7)) as c (number, id) join s on s.number = c.number \
     join dispatch_assignments a on a.id = c.id and ",
    live!(),
    "cross join lateral (select a.start_at - interval '367 days' as assignments_from, a.start_at - interval '1098 days' as windows_from \
         offset 0) e \
     left join dispatch_job_sites j on j.tenant_id = $1 and j.id = a.job_site_id"
);

/// The alerts that are not resolved and contain one of the assignments `$6`, `$7`, only overlaps if `$8`, or are of the family and identity
/// `$10`, `$11` of subjects `$9`.
pub(super) const ALERTS_ABOUT: &str = subjects!(
    ", found as ( \
         select c.number, x.alert_id as id, $8 as is_of_overlaps from unnest((select $6), (select $7)) as c (number, id) \
         join alerts_assignments x on x.tenant_id = $1 and x.assignment_id = c.id \
         union all \
         select k.number, l.id, false from unnest((select $9), (select $10), (select $11)) as k (number, family, identity_key) join s on s.number = k.number \
         join alerts_alerts l on l.tenant_id = $1 and l.organization_id = s.organization_id and l.subject_type = s.type \
             and l.subject_id = s.id and l.family = k.family and l.identity_key = k.identity_key and l.resolved_at is null) \
     select s.number, ",
    alert!(),
    "from (select number, id, bool_and(is_of_overlaps) as is_of_overlaps from found group by number, id) f join s on s.number = f.number \
     join alerts_alerts a on a.tenant_id = $1 and a.id = f.id and a.organization_id = s.organization_id and a.subject_type = s.type \
         and a.subject_id = s.id and a.resolved_at is null and (a.family = 'overlap' or not f.is_of_overlaps) and $5 is not null ",
    join_shown!()
);

/// The live assignments that meet the intervals `$7`, `$8` of subjects `$6`, and all that are connected with them by overlaps. An interval is widened
/// `$9` times at most; `is_complete` is false if that was not enough.
pub(super) const GROUPS: &str = subjects!(
    ", widened (interval, number, start_at, end_at, assignments_from, steps) as ( \
         select i.interval, i.number, i.start_at, i.end_at, i.start_at - interval '367 days', 0 \
         from unnest((select $6), (select $7), (select $8)) with ordinality as i (number, start_at, end_at, interval) \
         union all \
         select w.interval, w.number, least(w.start_at, m.start_at), greatest(w.end_at, m.end_at), \
             least(w.start_at, m.start_at) - interval '367 days', w.steps + 1 \
         from widened w join s on s.number = w.number cross join lateral ( \
             select min(a.start_at) as start_at, max(a.end_at) as end_at from dispatch_assignments a \
             where a.start_at < w.end_at and a.start_at > w.assignments_from and a.end_at > w.start_at and ",
    live!(),
    ") m where w.steps < $9 and (m.start_at < w.start_at or m.end_at > w.end_at)), \
     widest as (select distinct on (interval) * from widened order by interval, steps desc) \
     select s.number, a.id, a.job_site_id, a.start_at, a.end_at, w.steps < $9 as is_complete \
     from widest w join s on s.number = w.number cross join lateral ( \
         select * from dispatch_assignments a \
         where a.start_at < w.end_at and a.start_at > w.assignments_from and a.end_at > w.start_at and ",
    live!(),
    ") a"
);

/// The windows `$6`, `$7` (numbers of subjects and ids) and the live assignments that meet them, one row for each pair.
pub(super) const MET_WINDOWS: &str = subjects!(
    "select s.number, w.id as window_id, w.start_at as window_start_at, w.end_at as window_end_at, a.id, a.job_site_id, a.start_at, a.end_at \
     from unnest((select $6), (select $7)) as k (number, id) join s on s.number = k.number \
     join calendar_windows w on w.tenant_id = $1 and w.id = k.id and w.organization_id = s.organization_id and w.resource_type = s.type \
         and w.resource_id = s.id and w.end_at > $5 \
     cross join lateral (select w.start_at - interval '367 days' as assignments_from offset 0) e \
     cross join lateral ( \
         select * from dispatch_assignments a \
         where a.start_at < w.end_at and a.start_at > e.assignments_from and a.end_at > w.start_at and ",
    live!(),
    ") a"
);

/// The job sites `$7` of subjects `$6`, and the live assignments there that may be outside of their dates: two days are more than a zone
/// differs from UTC.
pub(super) const CLOSED_SITES: &str = subjects!(
    "select s.number, j.id as site_id, (j.status = 'closed' or j.deleted_at is not null) as is_closed, j.start_date, j.end_date_exclusive, \
         a.id, a.job_site_id, a.start_at, a.end_at \
     from unnest((select $6), (select $7)) as k (number, id) join s on s.number = k.number \
     join dispatch_job_sites j on j.tenant_id = $1 and j.id = k.id \
     cross join lateral ( \
         select * from dispatch_assignments a \
         where a.job_site_id = j.id and (j.status = 'closed' or j.deleted_at is not null \
             or a.start_at < (j.start_date + 2)::timestamp at time zone 'UTC' \
             or a.end_at > (j.end_date_exclusive - 2)::timestamp at time zone 'UTC') \
             and a.start_at > $5 - interval '367 days' and ",
    live!(),
    ") a"
);

pub(super) type Statement = BoxedSqlQuery<'static, Pg, SqlQuery>;

/// A statement about subjects: `$1` is the tenant, `$2`, `$3` and `$4` are the subjects, `$5` is the present instant.
pub(super) fn about(text: &'static str, moment: Moment<'_>, subjects: &[Subject]) -> Statement {
    let types: Vec<&'static str> = subjects.iter().map(|one| one.resource_type.as_str()).collect();
    sql_query(text)
        .into_boxed()
        .bind::<SqlUuid, _>(moment.tenant)
        .bind::<Array<SqlUuid>, _>(subjects.iter().map(|one| one.organization).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(types)
        .bind::<Array<SqlUuid>, _>(subjects.iter().map(|one| one.id).collect::<Vec<_>>())
        .bind::<Timestamptz, _>(moment.now)
}

/// Adds numbers of subjects and ids that belong to them.
pub(super) fn with_pairs(statement: Statement, pairs: &[(i64, Uuid)]) -> Statement {
    statement
        .bind::<Array<BigInt>, _>(pairs.iter().map(|(number, _)| *number).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(pairs.iter().map(|(_, id)| *id).collect::<Vec<_>>())
}

/// A statement about rows with these ids.
pub(super) fn with_ids(text: &'static str, tenant: Uuid, ids: Vec<Uuid>) -> Prepared<Statement> {
    let statement = sql_query(text).into_boxed().bind::<SqlUuid, _>(tenant);
    Prepared(statement.bind::<Array<SqlUuid>, _>(ids))
}
