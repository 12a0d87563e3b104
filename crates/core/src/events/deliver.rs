//! One delivery: reads the events after a cursor, runs the subscriber on them and moves the cursor, in one transaction.

use std::mem;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use diesel::sql_types::{BigInt, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::FutureExt;
use tokio::time::{Instant, timeout};

use super::claim::Claimed;
use super::last_writes::{Collector, LastWrites};
use super::{StoredEvent, Subscriber, dead_letters, notify, stored};
use crate::backoff::spread;
use crate::context::Call;
use crate::db::{ASYNC_COMMIT, Prepared};
use crate::error::{Error, Result};
use crate::platform::Runtime;
use crate::scope::Scope;
use crate::time::Timestamp;

/// Number of attempts after which an event becomes a dead letter.
pub(super) const MAX_ATTEMPTS: i32 = 12;
const BATCH: usize = 100;
/// Time after which no further event is begun, so that the lease outlives the delivery.
const TURN: Duration = Duration::from_secs(5);
const LONGEST_HANDLER: Duration = Duration::from_secs(20);
const LONGEST_WAIT: time::Duration = time::Duration::minutes(15);

/// The position that a delivery reached.
struct Reached {
    seq: i64,
    /// Number of events that the subscriber handled.
    taken: usize,
    failure: Option<(StoredEvent, Error)>,
    /// What the handlers write at the end of the delivery.
    last: LastWrites,
}

/// Delivers the events after the cursor. After a failed attempt it delivers one event at a time, so that the counted attempts belong to the
/// first event.
pub(super) async fn deliver(runtime: &Runtime, subscriber: &Subscriber, cursor: &Claimed) -> Result<()> {
    let tenant = cursor.tenant_id;
    let call = Collector::call(runtime, tenant);
    let mut transaction = runtime.database.transaction(&Scope::tenant(tenant)).await?;
    let connection = transaction.connection();
    fence(connection, cursor).await?;
    let last = stored::extent(connection, tenant).await?.last;
    let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
    let events = stored::between(connection, tenant, cursor.last_seq, last, limit).await?;
    let mut reached = take(connection, &call, subscriber, cursor, &events, last).await?;
    let last = mem::take(&mut reached.last);
    settle(connection, &call, cursor, reached).await?;
    let names = last.write(connection, &call, tenant).await?;
    transaction.commit().await?;
    if !names.is_empty() {
        notify(&call, tenant, &names);
    }
    Ok(())
}

async fn take(
    connection: &mut AsyncPgConnection,
    call: &Call,
    subscriber: &Subscriber,
    cursor: &Claimed,
    events: &[StoredEvent],
    last: i64,
) -> Result<Reached> {
    let started = Instant::now();
    let at_once = if cursor.attempt > 1 { 1 } else { BATCH };
    let mut reached = Reached {
        seq: cursor.last_seq,
        taken: 0,
        failure: None,
        last: LastWrites::default(),
    };
    for event in events {
        if subscriber.wants(&event.name) {
            if reached.taken == at_once || started.elapsed() >= TURN || reached.last.is_full() {
                return Ok(reached);
            }
            connection.batch_execute("savepoint event").await?;
            let handled = handle(connection, call, subscriber, cursor, event).await;
            let last = Collector::take(call);
            if let Err(error) = handled {
                if connection.batch_execute("rollback to savepoint event").await.is_err() {
                    // The subscriber's error says why the connection can't be used any more.
                    return Err(error);
                }
                reached.failure = Some((event.clone(), error));
                return Ok(reached);
            }
            connection.batch_execute("release savepoint event").await?;
            reached.last.append(last);
            reached.taken += 1;
        }
        reached.seq = event.seq;
    }
    if events.len() < BATCH {
        reached.seq = last;
    }
    Ok(reached)
}

async fn handle(
    connection: &mut AsyncPgConnection,
    call: &Call,
    subscriber: &Subscriber,
    cursor: &Claimed,
    event: &StoredEvent,
) -> Result<()> {
    if cursor.attempt > MAX_ATTEMPTS {
        // Every attempt ended the process or the connection, so none could report its failure.
        let error = cursor.last_error.clone();
        return Err(Error::internal(error.unwrap_or_else(|| "no attempt ended".to_owned())));
    }
    run_handler(connection, call, subscriber, event).await
}

/// Runs the subscriber on the event; a panic or a timeout is an error like any other.
pub(super) async fn run_handler(
    connection: &mut AsyncPgConnection,
    call: &Call,
    subscriber: &Subscriber,
    event: &StoredEvent,
) -> Result<()> {
    let work = AssertUnwindSafe((subscriber.handler)(connection, call, event)).catch_unwind();
    match timeout(LONGEST_HANDLER, work).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_panic)) => Err(Error::internal("the subscriber panicked")),
        Err(_elapsed) => Err(Error::internal("the subscriber took too long")),
    }
}

/// Moves the cursor; repeats a failed event later or stores it as a dead letter.
async fn settle(connection: &mut AsyncPgConnection, call: &Call, cursor: &Claimed, reached: Reached) -> Result<()> {
    let Some((event, error)) = reached.failure else {
        return advance(connection, cursor, reached.seq, 0, call.now, call.now, None).await;
    };
    let attempts = if reached.taken > 0 { 1 } else { cursor.attempt };
    let text = error.to_string();
    if attempts >= MAX_ATTEMPTS {
        let attempts = attempts.min(MAX_ATTEMPTS);
        dead_letters::put(connection, call, &cursor.subscriber, &event, attempts, &text).await?;
        tracing::error!(subscriber = cursor.subscriber, event.id = %event.id, event.name, attempt = attempts, %error,
            "a subscriber failed for the last time; the event is now a dead letter");
        return advance(connection, cursor, event.seq, 0, call.now, call.now, None).await;
    }
    tracing::warn!(subscriber = cursor.subscriber, event.id = %event.id, event.name, attempt = attempts, %error,
        "a subscriber failed");
    let [random] = call.platform().ids().random::<1>();
    let next = call.now.after(pause(attempts, random));
    advance(connection, cursor, reached.seq, attempts, next, call.now, Some(&text)).await
}

async fn advance(
    connection: &mut AsyncPgConnection,
    cursor: &Claimed,
    seq: i64,
    attempt: i32,
    next: Timestamp,
    now: Timestamp,
    error: Option<&str>,
) -> Result<()> {
    let statement = sql_query(
        "update core_event_cursors set last_seq = $4, attempt = $5, next_at = $6, updated_at = $7, last_error = left($8, 2000), \
             lease_owner = null, lease_until = null \
         where tenant_id = $1 and id = $2 and lease_owner = $3",
    )
    .bind::<SqlUuid, _>(cursor.tenant_id)
    .bind::<SqlUuid, _>(cursor.id)
    .bind::<SqlUuid, _>(cursor.lease_owner)
    .bind::<BigInt, _>(seq)
    .bind::<Integer, _>(attempt)
    .bind::<Timestamptz, _>(next)
    .bind::<Timestamptz, _>(now)
    .bind::<Nullable<Text>, _>(error);
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// Postpones a delivery that failed as a whole and stored nothing.
pub(super) async fn postpone(runtime: &Runtime, cursor: &Claimed, error: &Error) -> Result<()> {
    let now = runtime.platform.clock().now();
    let [random] = runtime.platform.ids().random::<1>();
    let next = now.after(pause(cursor.attempt, random));
    let mut connection = runtime.database.queue().await?;
    let text = error.to_string();
    advance(
        &mut connection,
        cursor,
        cursor.last_seq,
        cursor.attempt,
        next,
        now,
        Some(&text),
    )
    .await
}

/// 1 s, doubled with every attempt, 15 minutes at most; plus or minus a fifth, so that simultaneous failures are not repeated simultaneously.
fn pause(attempt: i32, random: u8) -> time::Duration {
    let doubled = 1_i32 << (attempt.max(1) - 1).min(20);
    time::Duration::seconds(i64::from(doubled)).min(LONGEST_WAIT) * spread(random) / 1000
}

#[derive(QueryableByName)]
struct Held {
    #[diesel(sql_type = Integer)]
    #[expect(dead_code, reason = "only the existence of the row matters")]
    held: i32,
}

/// Locks the cursor; fails if another relay holds it. The commit of the transaction need not be on the disk when it returns: after a crash of the database
/// the position is lost together with what the subscriber has written, and the events are delivered again.
async fn fence(connection: &mut AsyncPgConnection, cursor: &Claimed) -> Result<()> {
    let statement = sql_query(format!(
        "select 1 as held from core_event_cursors c cross join (select {ASYNC_COMMIT}) hasty \
         where c.tenant_id = $1 and c.id = $2 and c.lease_owner = $3 for update of c"
    ))
    .bind::<SqlUuid, _>(cursor.tenant_id)
    .bind::<SqlUuid, _>(cursor.id)
    .bind::<SqlUuid, _>(cursor.lease_owner);
    let held: Option<Held> = Prepared(statement).get_result(connection).await.optional()?;
    match held {
        Some(_) => Ok(()),
        None => Err(Error::internal("another relay holds the cursor")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_quarter_of_an_hour() {
        let middle = |attempt| pause(attempt, 127).whole_milliseconds();
        assert_eq!((middle(1), middle(2), middle(5)), (999, 1998, 15984));
        assert_eq!(pause(11, 255), time::Duration::minutes(18));
        assert_eq!(pause(12, 0), time::Duration::minutes(12));
    }
}
