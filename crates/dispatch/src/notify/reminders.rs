//! Reminds workers of assignments that start soon.

use std::collections::BTreeSet;

use backoffice_calendar::{Day, zones_of};
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Call, Result, Scope, Timestamp};
use backoffice_notifications::send_last;
use diesel::sql_types::{BigInt, Date, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryDsl, QueryableByName, sql_query, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use time::Duration;
use uuid::Uuid;

use super::types::{About, REMINDER, local_time};
use crate::config::DispatchConfig;
use crate::schema::dispatch_assignments as assignments;

/// The name of the schedule.
pub(super) const SCHEDULE: &str = "dispatch.reminders";
/// How often the job runs.
pub(super) const EVERY: Duration = Duration::minutes(1);
/// Assignments that one step marks, all of one tenant: the stream of a tenant's events is locked until the commit.
const CHUNK: i64 = 500;

/// Reminds workers of their next assignments. Marks and notifications are committed together, so each assignment is reminded of once.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct RemindWorkers {}

/// `$1` is now, `$2` the latest start, `$3` the size of the chunk. Inactive workers are not reminded. Assignments that another transaction has locked
/// are left to the next run.
const MARK: &str = "\
with first as (
    select a.tenant_id from dispatch_assignments a
    join dispatch_resources r on r.tenant_id = a.tenant_id and r.id = a.subject_id and r.user_id is not null
        and r.is_active and r.deleted_at is null
    where a.reminded_at is null and a.subject_type = 'worker' and a.status in ('planned', 'confirmed')
        and a.start_at > $1 and a.start_at <= $2
    order by a.start_at, a.tenant_id limit 1
    for update of a skip locked
), due as (
    select a.tenant_id, a.id, r.user_id from dispatch_assignments a
    join dispatch_resources r on r.tenant_id = a.tenant_id and r.id = a.subject_id and r.user_id is not null
        and r.is_active and r.deleted_at is null
    where a.tenant_id = (select tenant_id from first)
        and a.reminded_at is null and a.subject_type = 'worker' and a.status in ('planned', 'confirmed')
        and a.start_at > $1 and a.start_at <= $2
    order by a.start_at, a.id limit $3
    for update of a skip locked
)
update dispatch_assignments a set reminded_at = $1
from due d, dispatch_job_sites s
where a.tenant_id = d.tenant_id and a.id = d.id and s.tenant_id = a.tenant_id and s.id = a.job_site_id
returning a.tenant_id, a.id, a.organization_id, a.start_at, a.start_date, d.user_id, s.name as site";

#[derive(QueryableByName)]
struct Due {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    organization_id: Uuid,
    #[diesel(sql_type = Timestamptz)]
    start_at: Timestamp,
    #[diesel(sql_type = Nullable<Date>)]
    start_date: Option<Day>,
    #[diesel(sql_type = SqlUuid)]
    user_id: Uuid,
    #[diesel(sql_type = Text)]
    site: String,
}

impl Job for RemindWorkers {
    const KIND: &'static str = "dispatch.assignment.remind";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, now, cursor) = (work.call().clone(), work.now(), work.cursor() + 1);
        let before = call.provided::<DispatchConfig>()?.reminder_before;
        if before.is_zero() {
            return Ok(Step::Done);
        }
        let latest = now.after(Duration::try_from(before).unwrap_or(Duration::DAY));
        let mut chunk = work.begin(&Scope::system()).await?;
        let connection = chunk.connection();
        let due: Vec<Due> = sql_query(MARK)
            .bind::<Timestamptz, _>(now)
            .bind::<Timestamptz, _>(latest)
            .bind::<BigInt, _>(CHUNK)
            .prepared()
            .get_results(connection)
            .await?;
        let Some(tenant) = due.as_slice().first().map(|one| one.tenant_id) else {
            chunk.advance(cursor).await?;
            return Ok(Step::Done);
        };
        let marked = u64::try_from(due.len()).unwrap_or(u64::MAX);
        send(connection, &call, tenant, due).await?;
        chunk.advance(cursor).await?;
        metrics::counter!("dispatch_reminders_total").increment(marked);
        Ok(Step::More)
    }
}

/// Removes the marks of sent reminders of a worker whose user has changed, so that the new user is reminded of the assignments that have not started.
pub(crate) async fn remind_other_user(tx: &mut Tx<'_>, worker: Uuid) -> Result<()> {
    let own = assignments::table
        .filter(assignments::tenant_id.eq(tx.tenant()))
        .filter(assignments::subject_type.eq("worker"))
        .filter(assignments::subject_id.eq(worker))
        .filter(assignments::start_at.gt(tx.now()))
        .filter(assignments::reminded_at.is_not_null());
    update(own)
        .set(assignments::reminded_at.eq(None::<Timestamp>))
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}

async fn send(
    connection: &mut diesel_async::AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    due: Vec<Due>,
) -> Result<()> {
    let by_instants = due.iter().filter(|one| one.start_date.is_none());
    let organizations: BTreeSet<Uuid> = by_instants.map(|one| one.organization_id).collect();
    let zones = zones_of(connection, call.platform(), tenant, &Vec::from_iter(organizations)).await?;
    let notification = |one: Due| {
        let start = match (one.start_date, zones.get(&one.organization_id)) {
            (None, Some(zone)) => local_time(zone, one.start_at),
            (Some(day), _) => day.to_string(),
            (None, None) => one.start_at.to_string(),
        };
        let about = About {
            assignment: one.id,
            organization: one.organization_id,
            recipient: one.user_id,
            site: one.site,
            start,
        };
        about.notification(REMINDER)
    };
    let new: Vec<_> = due.into_iter().map(notification).collect();
    send_last(connection, call, tenant, &new).await?;
    Ok(())
}
