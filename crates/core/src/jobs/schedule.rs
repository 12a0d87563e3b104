//! Jobs that run at intervals. The database knows when each is due, and exactly one node enqueues it then.

use std::collections::HashMap;
use std::time::Duration;

use diesel::sql_types::{Bool, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;

use super::{Job, NewJob, Stop, enqueue};
use crate::context::Call;
use crate::db::Prepared;
use crate::error::Result;
use crate::ids::PLATFORM_TENANT;
use crate::platform::Runtime;
use crate::scope::Scope;

/// How often a node looks for jobs that are due.
const LOOK: Duration = Duration::from_secs(60);

type Enqueue = for<'a> fn(&'a mut AsyncPgConnection, &'a Call, &'a str) -> BoxFuture<'a, Result<()>>;

/// A job of the platform that runs at intervals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    /// A name of its own: `<module>.<what>`.
    name: &'static str,
    every: time::Duration,
    enqueue: Enqueue,
}

impl Schedule {
    pub(super) const fn of<J: Job + Default>(name: &'static str, every: time::Duration) -> Self {
        Self {
            name,
            every,
            enqueue: enqueue_one::<J>,
        }
    }

    pub(super) const fn name(&self) -> &'static str {
        self.name
    }
}

/// The intervals of schedules that have a setting.
#[derive(Debug, Default)]
pub(crate) struct ScheduleIntervals(HashMap<&'static str, time::Duration>);

impl ScheduleIntervals {
    /// Sets an interval.
    pub(crate) fn set(&mut self, schedule: &'static str, every: Duration) {
        self.0
            .insert(schedule, time::Duration::try_from(every).unwrap_or(time::Duration::MAX));
    }
}

fn enqueue_one<'a, J: Job + Default>(
    connection: &'a mut AsyncPgConnection,
    call: &'a Call,
    name: &'a str,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        let new_job = NewJob::of_system(PLATFORM_TENANT, J::default());
        enqueue(connection, call, &new_job.deduplicated(format!("schedule:{name}"))).await?;
        Ok(())
    })
}

/// Enqueues what is due, once a minute, until the signal.
pub(super) async fn run(runtime: Runtime, mut stop: Stop) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.set() => return,
        }
        if let Err(error) = enqueue_due(&Call::internal(&runtime)).await {
            tracing::debug!(%error, "could not enqueue scheduled jobs; retrying");
        }
    }
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Bool)]
    is_due: bool,
}

const LOOK_UP: &str = "\
select due_at <= $3 or due_at > $4 as is_due from core_schedules where tenant_id = $1 and name = $2";

/// The largest difference of clocks that is taken for normal. A schedule that is due later than this after its next interval was written while a
/// clock was ahead, and is due at once (decision 12).
const CLOCKS_DIFFER: time::Duration = time::Duration::minutes(10);

/// A new schedule is due after its first interval. The node that changes a due row is the one that enqueues the job.
const CLAIM: &str = "\
insert into core_schedules as s (tenant_id, id, name, due_at, created_at, updated_at) values ($1, $2, $3, $5, $4, $4)
on conflict (tenant_id, name) do update set due_at = excluded.due_at, updated_at = excluded.updated_at
    where s.due_at <= $4 or s.due_at > $6
returning created_at <> $4 as is_due";

/// Enqueues the scheduled jobs that are due, each by one of the nodes that call this. While the job of an earlier time is open, no second one is enqueued. Returns
/// the number of jobs that were due.
///
/// # Errors
/// When the database can't be reached.
pub async fn enqueue_due(call: &Call) -> Result<usize> {
    let mut due = 0;
    for schedule in call.platform().job_kinds().schedules() {
        let interval = interval(call, schedule);
        let known: Option<Row> = {
            let mut connection = call.database().unlogged(&Scope::system()).await?;
            let statement = sql_query(LOOK_UP)
                .bind::<SqlUuid, _>(PLATFORM_TENANT)
                .bind::<Text, _>(schedule.name)
                .bind::<Timestamptz, _>(call.now)
                .bind::<Timestamptz, _>(call.now.after(interval.saturating_add(CLOCKS_DIFFER)));
            Prepared(statement).get_result(&mut *connection).await.optional()?
        };
        if known.is_none_or(|row| row.is_due) && claim(call, schedule, interval).await? {
            due += 1;
        }
    }
    Ok(due)
}

/// Returns the interval of a schedule: that of its setting, or else its own.
fn interval(call: &Call, schedule: &Schedule) -> time::Duration {
    let intervals = call.platform().provided().get::<ScheduleIntervals>();
    let set = intervals.and_then(|intervals| intervals.0.get(schedule.name).copied());
    set.unwrap_or(schedule.every)
}

/// Moves the time of a schedule and enqueues its job, together. False if another node has done so, or the schedule is new.
async fn claim(call: &Call, schedule: &Schedule, every: time::Duration) -> Result<bool> {
    let mut transaction = call.database().transaction(&Scope::system()).await?;
    let statement = sql_query(CLAIM)
        .bind::<SqlUuid, _>(PLATFORM_TENANT)
        .bind::<SqlUuid, _>(call.platform().ids().at(call.now))
        .bind::<Text, _>(schedule.name)
        .bind::<Timestamptz, _>(call.now)
        .bind::<Timestamptz, _>(call.now.after(every))
        .bind::<Timestamptz, _>(call.now.after(every.saturating_add(CLOCKS_DIFFER)));
    let claimed: Option<Row> = Prepared(statement)
        .get_result(transaction.connection())
        .await
        .optional()?;
    let is_due = claimed.is_some_and(|row| row.is_due);
    if is_due {
        (schedule.enqueue)(transaction.connection(), call, schedule.name).await?;
    }
    transaction.commit().await?;
    Ok(is_due)
}
