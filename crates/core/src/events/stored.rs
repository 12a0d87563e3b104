//! Events in the outbox.

use diesel::deserialize::{self, FromSql};
use diesel::pg::{Pg, PgValue};
use diesel::sql_types::{Array, BigInt, Bool, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::db::Prepared;
use crate::document::parse_stored;
use crate::error::Result;
use crate::time::Timestamp;

/// A stored event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, QueryableByName)]
pub struct StoredEvent {
    /// The tenant; the nil UUID for events of the platform.
    #[diesel(sql_type = SqlUuid)]
    pub tenant_id: Uuid,
    /// The id.
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    /// Number in the tenant, in the order of the commits.
    #[diesel(sql_type = BigInt)]
    pub seq: i64,
    /// The organization that the event is about.
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub organization_id: Option<Uuid>,
    /// The name.
    #[diesel(sql_type = Text)]
    pub name: String,
    /// The payload.
    #[diesel(sql_type = Jsonb, deserialize_as = Payload)]
    pub payload: Value,
    /// Whether `GET /events/stream` sends it.
    #[diesel(sql_type = Bool)]
    pub browser: bool,
    /// Feature that a reader of the stream must hold.
    #[diesel(sql_type = Nullable<Text>)]
    pub feature: Option<String>,
    /// A principal whose streams receive it regardless of the principal's features.
    #[serde(default)]
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub audience_id: Option<Uuid>,
    /// The entry of the action log that was written with it, if a command has emitted it.
    #[serde(default)]
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub log_id: Option<Uuid>,
    /// Time of the event.
    #[diesel(sql_type = Timestamptz)]
    pub occurred_at: Timestamp,
}

/// A payload as it is stored. One that is nested too deeply to be parsed, as earlier releases accepted it, must not hold up the events after it: its
/// deepest levels are null.
struct Payload(Value);

impl FromSql<Jsonb, Pg> for Payload {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        // The first byte is the version of the binary form.
        let text = value.as_bytes().get(1..).unwrap_or_default();
        match serde_json::from_slice(text) {
            Ok(payload) => Ok(Self(payload)),
            Err(_) => Ok(Self(parse_stored(std::str::from_utf8(text)?)?)),
        }
    }
}

impl From<Payload> for Value {
    fn from(payload: Payload) -> Self {
        payload.0
    }
}

/// The bounds of a tenant's outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, QueryableByName)]
pub struct Extent {
    /// The last number assigned to an entry or event.
    #[diesel(sql_type = BigInt)]
    pub last: i64,
    /// The highest deleted number; every event after it is stored.
    #[diesel(sql_type = BigInt)]
    pub removed: i64,
}

/// Returns the bounds of a tenant's outbox. Numbers are assigned under a lock that is held until the commit, so everything up to `last` is
/// stored.
///
/// # Errors
/// When the database can't be reached.
pub async fn extent(connection: &mut AsyncPgConnection, tenant: Uuid) -> Result<Extent> {
    let found: Option<Extent> = Prepared(
        sql_query(
            "select coalesce(max(last_seq) filter (where name = 'log'), 0) as last,
                coalesce(max(last_seq) filter (where name = 'removed'), 0) as removed
             from core_event_streams where tenant_id = $1 and name in ('log', 'removed')",
        )
        .bind::<SqlUuid, _>(tenant),
    )
    .get_result(connection)
    .await
    .optional()?;
    Ok(found.unwrap_or(Extent { last: 0, removed: 0 }))
}

#[derive(QueryableByName)]
struct Last {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = BigInt)]
    last: i64,
}

/// Returns the last number of each of these tenants that has one, with one statement. The connection sees all tenants.
///
/// # Errors
/// When the database can't be reached.
pub async fn last_numbers(connection: &mut AsyncPgConnection, tenants: &[Uuid]) -> Result<Vec<(Uuid, i64)>> {
    let statement = sql_query(
        "select tenant_id, last_seq as last from core_event_streams where tenant_id = any($1) and name = 'log'",
    )
    .bind::<Array<SqlUuid>, _>(tenants);
    let found: Vec<Last> = Prepared(statement).get_results(connection).await?;
    Ok(found.into_iter().map(|one| (one.tenant_id, one.last)).collect())
}

/// Returns the first events of a tenant after one number and up to another, at most `limit`.
///
/// # Errors
/// When the database can't be reached.
pub async fn between(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    behind: i64,
    up_to: i64,
    limit: i64,
) -> Result<Vec<StoredEvent>> {
    let statement = sql_query(
        "select tenant_id, id, seq, organization_id, name, payload, browser, feature, audience_id, log_id, occurred_at
         from core_outbox_events
         where tenant_id = $1 and seq > $2 and seq <= $3
         order by seq limit $4",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<BigInt, _>(behind)
    .bind::<BigInt, _>(up_to)
    .bind::<BigInt, _>(limit);
    Ok(Prepared(statement).get_results(connection).await?)
}
