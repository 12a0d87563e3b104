//! Dead letters: events whose delivery to a subscriber failed permanently. Operators can inspect and redeliver them.

use diesel::sql_types::{BigInt, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::StoredEvent;
use super::deliver::run_handler;
use crate::context::Call;
use crate::error::{Error, Rejection, Result};
use crate::scope::Scope;
use crate::time::Timestamp;

/// An event whose delivery failed permanently.
#[derive(Debug, Clone, Serialize, QueryableByName)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The tenant.
    #[diesel(sql_type = SqlUuid)]
    pub tenant_id: Uuid,
    /// The id.
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    /// Name of the subscriber that failed.
    #[diesel(sql_type = Text)]
    pub subscriber: String,
    /// The event.
    #[diesel(sql_type = Jsonb)]
    pub event: Value,
    /// Number of attempts.
    #[diesel(sql_type = Integer)]
    pub attempts: i32,
    /// Error of the last attempt.
    #[diesel(sql_type = Text)]
    pub error: String,
    /// Time of the successful redelivery.
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub resolved_at: Option<Timestamp>,
    /// Time of the last failed attempt.
    #[diesel(sql_type = Timestamptz)]
    pub created_at: Timestamp,
}

/// Returns the unresolved dead letters of all tenants, or all dead letters, the oldest first; at most 1000.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(call: &Call, resolved_too: bool) -> Result<Vec<DeadLetter>> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let letters = sql_query(
        "select tenant_id, id, subscriber, event, attempts, error, resolved_at, created_at from core_event_dead_letters \
         where $1 or resolved_at is null order by created_at, id limit 1000",
    )
    .bind::<diesel::sql_types::Bool, _>(resolved_too);
    Ok(letters.get_results(&mut *connection).await?)
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// Counts the unresolved dead letters of all tenants.
///
/// # Errors
/// When the database can't be reached.
pub async fn count(call: &Call) -> Result<i64> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let counted: Count = sql_query("select count(*) as count from core_event_dead_letters where resolved_at is null")
        .get_result(&mut *connection)
        .await?;
    Ok(counted.count)
}

/// Redelivers a dead letter, in the transaction that marks it as resolved.
///
/// # Errors
/// 404 when it is already resolved; the error of the subscriber when it fails again.
pub async fn retry(call: &Call, letter: &DeadLetter) -> Result<()> {
    let event: StoredEvent = serde_json::from_value(letter.event.clone())?;
    let subscribers = call.platform().subscribers();
    let subscriber = subscribers
        .find(&letter.subscriber)
        .ok_or_else(|| Error::internal(format!("unknown subscriber {}", letter.subscriber)))?;
    let mut transaction = call.database().transaction(&Scope::tenant(letter.tenant_id)).await?;
    let connection = transaction.connection();
    resolve(connection, call, letter).await?;
    connection.batch_execute("savepoint event").await?;
    let outcome = run_handler(connection, call, subscriber, &event).await;
    if let Err(error) = &outcome {
        if connection.batch_execute("rollback to savepoint event").await.is_err() {
            // The subscriber's error says why the connection can't be used any more.
            return outcome;
        }
        fail(connection, call, letter, &error.to_string()).await?;
    }
    transaction.commit().await?;
    outcome
}

async fn resolve(connection: &mut AsyncPgConnection, call: &Call, letter: &DeadLetter) -> Result<()> {
    let resolved = sql_query(
        "update core_event_dead_letters set resolved_at = $3, updated_at = $3, attempts = attempts + 1 \
         where tenant_id = $1 and id = $2 and resolved_at is null",
    )
    .bind::<SqlUuid, _>(letter.tenant_id)
    .bind::<SqlUuid, _>(letter.id)
    .bind::<Timestamptz, _>(call.now)
    .execute(connection)
    .await?;
    if resolved == 0 {
        return Err(Rejection::not_found("No unresolved dead letter has this id").into());
    }
    Ok(())
}

async fn fail(connection: &mut AsyncPgConnection, call: &Call, letter: &DeadLetter, error: &str) -> Result<()> {
    sql_query(
        "update core_event_dead_letters set resolved_at = null, error = left($4, 2000), updated_at = $3 \
         where tenant_id = $1 and id = $2",
    )
    .bind::<SqlUuid, _>(letter.tenant_id)
    .bind::<SqlUuid, _>(letter.id)
    .bind::<Timestamptz, _>(call.now)
    .bind::<Text, _>(error)
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores an event as a dead letter.
pub(super) async fn put(
    connection: &mut AsyncPgConnection,
    call: &Call,
    subscriber: &str,
    event: &StoredEvent,
    attempts: i32,
    error: &str,
) -> Result<()> {
    sql_query(
        "insert into core_event_dead_letters
            (tenant_id, id, subscriber, event_id, seq, event, attempts, error, created_at, updated_at)
         values ($1, $2, $3, $4, $5, $6, $7, left($8, 2000), $9, $9)
         on conflict (tenant_id, subscriber, event_id) do nothing",
    )
    .bind::<SqlUuid, _>(event.tenant_id)
    .bind::<SqlUuid, _>(call.platform().ids().at(call.now))
    .bind::<Text, _>(subscriber)
    .bind::<SqlUuid, _>(event.id)
    .bind::<BigInt, _>(event.seq)
    .bind::<Jsonb, _>(&serde_json::to_value(event)?)
    .bind::<Integer, _>(attempts)
    .bind::<Text, _>(error)
    .bind::<Timestamptz, _>(call.now)
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns the unresolved dead letter with this id.
///
/// # Errors
/// 404 when there is no such dead letter.
pub async fn find(call: &Call, id: Uuid) -> Result<DeadLetter> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    sql_query(
        "select tenant_id, id, subscriber, event, attempts, error, resolved_at, created_at from core_event_dead_letters \
         where id = $1 and resolved_at is null",
    )
    .bind::<SqlUuid, _>(id)
    .get_result(&mut *connection)
    .await
    .optional()?
    .ok_or_else(|| Rejection::not_found("No unresolved dead letter has this id").into())
}
