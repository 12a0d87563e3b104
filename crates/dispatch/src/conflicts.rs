//! Critical conflicts: live assignments that overlap other live assignments of their subject, or its unavailability windows.
//!
//! Intervals are half-open. An assignment takes at most 366 days, a window at most 1096, so each look-up is a range of an index. Its start is computed beside
//! the table, because row-level security keeps calculations out of the conditions of an index.

use backoffice_core::db::Prepared;
use backoffice_core::list::Fragment;
use backoffice_core::{Result, Timestamp};
use diesel::dsl::sql;
use diesel::sql_types::{Array, BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::Assignment;
use crate::schema::dispatch_assignments as assignments;
use crate::values::LIVE_STATUSES;

/// Conflicts of one assignment that are returned at most, of each kind.
const MOST: i64 = 1000;

/// The time that an assignment takes, or would take.
#[derive(Debug, Clone)]
pub(crate) struct TakenTime {
    /// The assignment itself, which is no conflict.
    pub(crate) id: Uuid,
    pub(crate) organization: Uuid,
    pub(crate) subject_type: String,
    pub(crate) subject: Uuid,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

impl TakenTime {
    /// Returns the time of an assignment that is live now.
    pub(crate) fn of(row: &Assignment, now: Timestamp) -> Option<Self> {
        (LIVE_STATUSES.contains(&row.status.as_str()) && row.end_at > now).then(|| Self {
            id: row.id,
            organization: row.organization_id,
            subject_type: row.subject_type.clone(),
            subject: row.subject_id,
            start: row.start_at,
            end: row.end_at,
        })
    }
}

/// An assignment or window that is in conflict with an assignment.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct Conflict {
    /// Position of the assignment in the question, from 1.
    #[diesel(sql_type = BigInt)]
    pub(crate) number: i64,
    /// The other assignment, or the window.
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    /// The job site of the other assignment; `None` for a window.
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) job_site_id: Option<Uuid>,
}

const FIND: &str = "\
with taken as materialized (
    select t.*, t.start_at - interval '367 days' as assignments_from, t.start_at - interval '1098 days' as windows_from
    from unnest((select $3), (select $4), (select $5), (select $6), (select $7), (select $8)) with ordinality
        as t (id, organization_id, subject_type, subject_id, start_at, end_at, number)
)
select t.number, o.id, o.job_site_id, o.start_at
from taken t cross join lateral (
    select a.id, a.job_site_id, a.start_at from dispatch_assignments a
    where a.tenant_id = $1 and a.subject_type = t.subject_type and a.subject_id = t.subject_id
        and a.status in ('planned', 'confirmed')
        and a.start_at < t.end_at and a.start_at > t.assignments_from and a.end_at > t.start_at
        and a.end_at > $2 and a.id <> t.id
    order by a.start_at, a.id limit $9
) o
union all
select t.number, w.id, null, w.start_at
from taken t cross join lateral (
    select w.id, w.start_at from calendar_windows w
    where w.tenant_id = $1 and w.resource_type = t.subject_type and w.resource_id = t.subject_id
        and w.organization_id = t.organization_id
        and w.start_at < t.end_at and w.start_at > t.windows_from and w.end_at > t.start_at
        and w.end_at > $2
    order by w.start_at, w.id limit $9
) w
order by number, start_at, id";

/// Returns what is in conflict with these assignments, by their positions, start and id. One statement.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn find(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    now: Timestamp,
    taken: &[TakenTime],
) -> Result<Vec<Conflict>> {
    if taken.is_empty() {
        return Ok(Vec::new());
    }
    let all = |of: fn(&TakenTime) -> Uuid| taken.iter().map(of).collect::<Vec<_>>();
    let statement = sql_query(FIND)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Timestamptz, _>(now)
        .bind::<Array<SqlUuid>, _>(all(|one| one.id))
        .bind::<Array<SqlUuid>, _>(all(|one| one.organization))
        .bind::<Array<Text>, _>(taken.iter().map(|one| one.subject_type.as_str()).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(all(|one| one.subject))
        .bind::<Array<Timestamptz>, _>(taken.iter().map(|one| one.start).collect::<Vec<_>>())
        .bind::<Array<Timestamptz>, _>(taken.iter().map(|one| one.end).collect::<Vec<_>>())
        .bind::<BigInt, _>(MOST);
    Ok(Prepared(statement).load(&mut &*connection).await?)
}

/// An assignment of a group of overlaps.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct GroupedAssignment {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) job_site_id: Uuid,
    /// Whether any assignment of the group, also one that is not returned, is on another job site than the one that is asked about.
    #[diesel(sql_type = Bool)]
    pub(crate) has_other_sites: bool,
}

// The assignment that is asked about is one row among the live ones of its subject. A row that starts before all earlier ones have ended belongs to the
// group of these; any other row is the first of a group.
const GROUP: &str = "\
with live as (
    select a.id, a.job_site_id, a.start_at, a.end_at, false as is_own from dispatch_assignments a
    where a.tenant_id = $1 and a.subject_type = $4 and a.subject_id = $5 and a.status in ('planned', 'confirmed')
        and a.start_at > $2 - interval '367 days' and a.end_at > $2 and a.id <> $3
    union all
    select $3, $8, $6, $7, true
), marked as (
    select *, start_at >= max(end_at) over (order by start_at, id rows between unbounded preceding and 1 preceding) as is_first
    from live
), numbered as (
    select *, count(*) filter (where is_first) over (order by start_at, id) as number from marked
)
select o.id, o.job_site_id, bool_or(o.job_site_id <> own.job_site_id) over () as has_other_sites
from numbered own join numbered o on o.number = own.number and not o.is_own
where own.is_own
order by o.start_at, o.id limit $9";

/// Returns the other assignments of the group of overlaps that this assignment is part of, or would be part of, on this job site: those that overlap it,
/// those that overlap these, and so on, by start and id. They are those of an alert. One statement, however long the chain is; it reads all live
/// assignments of the subject.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn find_group(
    connection: &AsyncPgConnection,
    tenant: Uuid,
    now: Timestamp,
    taken: &TakenTime,
    job_site: Uuid,
) -> Result<Vec<GroupedAssignment>> {
    let statement = sql_query(GROUP)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Timestamptz, _>(now)
        .bind::<SqlUuid, _>(taken.id)
        .bind::<Text, _>(&taken.subject_type)
        .bind::<SqlUuid, _>(taken.subject)
        .bind::<Timestamptz, _>(taken.start)
        .bind::<Timestamptz, _>(taken.end)
        .bind::<SqlUuid, _>(job_site)
        .bind::<BigInt, _>(MOST);
    Ok(Prepared(statement).load(&mut &*connection).await?)
}

/// Is true for assignments with a critical conflict. Those of the past count as well, so that the result does not change with time alone.
pub(crate) fn is_in_conflict() -> Fragment<assignments::table, Bool> {
    const IS_IN_CONFLICT: &str = "(dispatch_assignments.status in ('planned', 'confirmed') and (exists (
    select from (select dispatch_assignments.start_at - interval '367 days' as assignments_from offset 0) e cross join dispatch_assignments a
    where a.tenant_id = dispatch_assignments.tenant_id and a.subject_type = dispatch_assignments.subject_type
        and a.subject_id = dispatch_assignments.subject_id and a.status in ('planned', 'confirmed')
        and a.start_at < dispatch_assignments.end_at and a.start_at > e.assignments_from
        and a.end_at > dispatch_assignments.start_at and a.id <> dispatch_assignments.id
) or exists (
    select from (select dispatch_assignments.start_at - interval '1098 days' as windows_from offset 0) e cross join calendar_windows w
    where w.tenant_id = dispatch_assignments.tenant_id and w.resource_type = dispatch_assignments.subject_type
        and w.resource_id = dispatch_assignments.subject_id and w.organization_id = dispatch_assignments.organization_id
        and w.start_at < dispatch_assignments.end_at and w.start_at > e.windows_from
        and w.end_at > dispatch_assignments.start_at)))";

    Box::new(sql::<Bool>(IS_IN_CONFLICT))
}
