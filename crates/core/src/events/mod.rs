//! What commands announce. Events are rows of the outbox, written in the command's transaction. From there a relay on every node takes
//! them to the subscribers, in the order of the commits: each subscriber has a cursor of its own in each tenant, and its effects in the
//! database are one transaction with the cursor's move.

mod bell;
mod claim;
pub mod dead_letters;
mod deliver;
mod relay;
mod retention;
mod stored;
mod subscriber;

use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::context::Call;
use crate::error::Result;
use crate::http::wire_tenant;

pub use bell::{EventBell, Listening};
pub use claim::introduce_subscribers;
pub use relay::{Relay, relay};
pub use retention::forget;
pub use stored::{Extent, StoredEvent, between, extent};
pub(crate) use subscriber::Subscribers;
pub use subscriber::{Handler, Subscriber};

/// One event: `<module>.<entity>.<past verb>` and its payload (without secrets).
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Members beside `id`, `tenantId` and `organizationId`, which the bus adds.
    pub payload: Map<String, Value>,
    /// The resource that it is about.
    pub id: String,
}

impl Event {
    /// An event about a resource.
    #[must_use]
    pub fn new(name: impl Into<String>, id: Uuid) -> Self {
        Self {
            name: name.into(),
            payload: Map::new(),
            id: id.to_string(),
        }
    }

    /// Adds a member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(name.to_owned(), value.into());
        self
    }
}

impl Event {
    /// The payload with the members that every event has.
    pub(crate) fn full_payload(&self, tenant: Uuid, organization: Option<Uuid>) -> Value {
        let mut payload = Map::from_iter([
            ("id".to_owned(), json!(self.id)),
            ("tenantId".to_owned(), json!(wire_tenant(tenant))),
            ("organizationId".to_owned(), json!(organization)),
        ]);
        payload.extend(self.payload.clone());
        Value::Object(payload)
    }
}

/// Writes events of bookkeeping that is no command (a session started) into the outbox, in the caller's transaction. The tenant's
/// stream stays locked until its end, so this comes last.
///
/// # Errors
/// When the database can't be reached.
pub async fn announce(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    organization: Option<Uuid>,
    events: &[Event],
) -> Result<()> {
    let ids = call.platform().ids();
    sql_query(
        "with stream as (
            insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
            values ($1, $2, 'log', $3, $4, $4)
            on conflict (tenant_id, name) do update set last_seq = s.last_seq + $3, updated_at = $4
            returning last_seq - $3 as seq
        )
        insert into core_outbox_events
            (tenant_id, id, seq, organization_id, name, payload, browser, request_id, occurred_at, created_at, updated_at)
        select $1, e.id, stream.seq + e.number, $5, e.name, e.payload, true, $6, $4, $4, $4
        from stream, unnest($7, $8, $9) with ordinality as e (id, name, payload, number)",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(ids.at(call.now))
    .bind::<BigInt, _>(i64::try_from(events.len()).unwrap_or(0))
    .bind::<Timestamptz, _>(call.now)
    .bind::<Nullable<SqlUuid>, _>(organization)
    .bind::<Text, _>(&call.request_id)
    .bind::<Array<SqlUuid>, _>(events.iter().map(|_| ids.at(call.now)).collect::<Vec<_>>())
    .bind::<Array<Text>, _>(events.iter().map(|event| event.name.clone()).collect::<Vec<_>>())
    .bind::<Array<Jsonb>, _>(events.iter().map(|event| event.full_payload(tenant, organization)).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// An event of a tenant, for [`announce_each`].
#[derive(Debug, Clone)]
pub struct Announcement {
    /// The tenant; no other announcement of the same call has it.
    pub tenant: Uuid,
    /// The organization that it is about.
    pub organization: Option<Uuid>,
    /// The event; without one the stream is touched all the same, so that nobody can tell by the work whether there was something to say.
    pub event: Option<Event>,
}

/// Writes at most one event for each of several tenants: one statement, whatever their number. The connection reaches all tenants.
///
/// # Errors
/// When the database can't be reached.
pub async fn announce_each(
    connection: &mut AsyncPgConnection,
    call: &Call,
    announcements: &[Announcement],
) -> Result<()> {
    let fresh = || -> Vec<Uuid> {
        announcements
            .iter()
            .map(|_| call.platform().ids().at(call.now))
            .collect()
    };
    let name = |one: &Announcement| one.event.as_ref().map(|event| event.name.clone()).unwrap_or_default();
    let payload = |one: &Announcement| match &one.event {
        Some(event) => event.full_payload(one.tenant, one.organization),
        None => Value::Null,
    };
    sql_query(
        "with wanted as (
            select * from unnest($1, $2, $3, $4, $5, $6, $7)
                as w (tenant_id, stream_id, event_id, organization_id, name, payload, events)
        ), stream as (
            insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
            select tenant_id, stream_id, 'log', events, $8, $8 from wanted order by tenant_id
            on conflict (tenant_id, name) do update set last_seq = s.last_seq + excluded.last_seq, updated_at = $8
            returning tenant_id, last_seq
        )
        insert into core_outbox_events
            (tenant_id, id, seq, organization_id, name, payload, browser, request_id, occurred_at, created_at, updated_at)
        select w.tenant_id, w.event_id, stream.last_seq, w.organization_id, w.name, w.payload, true, $9, $8, $8, $8
        from wanted w join stream on stream.tenant_id = w.tenant_id where w.events = 1",
    )
    .bind::<Array<SqlUuid>, _>(announcements.iter().map(|one| one.tenant).collect::<Vec<_>>())
    .bind::<Array<SqlUuid>, _>(fresh())
    .bind::<Array<SqlUuid>, _>(fresh())
    .bind::<Array<Nullable<SqlUuid>>, _>(announcements.iter().map(|one| one.organization).collect::<Vec<_>>())
    .bind::<Array<Text>, _>(announcements.iter().map(name).collect::<Vec<_>>())
    .bind::<Array<Jsonb>, _>(announcements.iter().map(payload).collect::<Vec<_>>())
    .bind::<Array<BigInt>, _>(announcements.iter().map(|one| i64::from(one.event.is_some())).collect::<Vec<_>>())
    .bind::<Timestamptz, _>(call.now)
    .bind::<Text, _>(&call.request_id)
    .execute(connection)
    .await?;
    Ok(())
}
