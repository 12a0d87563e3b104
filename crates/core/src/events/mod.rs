//! Events of commands. Events are rows of the outbox, written in the command's transaction. A relay on every node delivers them to the
//! subscribers, in the order of the commits: each subscriber has its own cursor in each tenant, and its effects in the database are one
//! transaction with the move of the cursor.

mod claim;
pub mod dead_letters;
mod deliver;
mod event;
mod last_writes;
mod nodes;
mod notifier;
mod relay;
mod retention;
mod services;
mod skip;
mod stored;
mod subscriber;

use std::slice;

use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Bool, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::collections;
use crate::context::Call;
use crate::db::Prepared;
use crate::error::Result;

pub use claim::create_cursors;
pub use event::Event;
pub(crate) use event::EventRows;
use last_writes::Collector;
pub use nodes::wake_each_other;
pub use notifier::{CommitNotifier, CommitWaiter};
pub use relay::{Relay, relay};
pub use retention::forget;
pub(crate) use services::EventServices;
pub use stored::{Extent, StoredEvent, between, extent, last_numbers};
pub(crate) use subscriber::Subscribers;
pub use subscriber::{Handler, Subscriber};

/// Writes events of unlogged changes (a session started) into the outbox, in the caller's transaction, and increments the versions of the
/// [collections] that their names begin with (`auth.session`). The tenant's stream stays locked until
/// the end of the transaction, so this must be its last step: the commit is expected at once, and waiters for events are notified now. In the handler
/// of a [`Subscriber`] it may be any step: the events of all handlers are written at the end of the delivery.
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
    let mut rows = EventRows::default();
    for event in events {
        rows.push(ids.at(call.now), event, tenant, organization);
    }
    if let Some(collector) = Collector::of(call) {
        return collector.add(tenant, rows, &[]);
    }
    let names = rows.names.clone();
    write_events(connection, call, tenant, rows, &[]).await?;
    notify(call, tenant, &names);
    Ok(())
}

/// Notifies waiters of events with these names in a tenant.
fn notify(call: &Call, tenant: Uuid, names: &[String]) {
    let platform = call.platform();
    let wanted = platform.subscribers().want(names).then_some(tenant);
    platform.commit_notifier().notify(wanted);
}

/// Records a change of rows of these kinds that no command makes, in the versions of their [collections]: those of the tenant, or,
/// in the platform's tenant, of all tenants. It is the last statement of its transaction, which holds the versions locked from here on, except in the
/// handler of a [`Subscriber`]: there it takes effect at the end of the delivery.
///
/// # Errors
/// When the database can't be reached.
pub async fn touch(connection: &mut AsyncPgConnection, call: &Call, tenant: Uuid, kinds: &[&str]) -> Result<()> {
    if let Some(collector) = Collector::of(call) {
        return collector.add(tenant, EventRows::default(), kinds);
    }
    collections::touch(connection, tenant, kinds, call.platform().ids().at(call.now), call.now).await
}

/// Writes events, and increments the versions of the kinds that their names begin with and of `kinds`.
async fn write_events(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    rows: EventRows,
    kinds: &[String],
) -> Result<()> {
    let number = i64::try_from(rows.len()).unwrap_or(0);
    let statement = sql_query(
        "with stream as (
            insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
            values ($1, $2, 'log', $3, $4, $4)
            on conflict (tenant_id, name) do update set last_seq = s.last_seq + $3, updated_at = $4
            returning last_seq - $3 as seq
        ), versioned as (
            insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
            select $1, (substr($2::text, 1, 14) || '7' || substr(md5($2::text || kind)::uuid::text, 16))::uuid, kind, 1, $4, $4
            from stream, (
                select regexp_replace(name, '\\.[^.]*$', '') as kind from unnest($7) as name union select unnest($13)
            ) as changed
            order by kind
            on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = $4
        )
        insert into core_outbox_events
            (tenant_id, id, seq, organization_id, name, payload, browser, feature, audience_id, request_id, occurred_at,
             created_at, updated_at)
        select $1, e.id, stream.seq + e.number, e.organization, e.name, e.payload, e.browser, e.feature, e.audience, $5, $4, $4, $4
        from stream, unnest($6, $7, $8, $9, $10, $11, $12) with ordinality
            as e (id, name, payload, organization, browser, feature, audience, number)",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(call.platform().ids().at(call.now))
    .bind::<BigInt, _>(number)
    .bind::<Timestamptz, _>(call.now)
    .bind::<Text, _>(&call.request_id)
    .bind::<Array<SqlUuid>, _>(rows.ids)
    .bind::<Array<Text>, _>(rows.names)
    .bind::<Array<Jsonb>, _>(rows.payloads)
    .bind::<Array<Nullable<SqlUuid>>, _>(rows.organizations)
    .bind::<Array<Bool>, _>(rows.browsers)
    .bind::<Array<Nullable<Text>>, _>(rows.features)
    .bind::<Array<Nullable<SqlUuid>>, _>(rows.audiences)
    .bind::<Array<Text>, _>(kinds);
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// An event of a tenant, for [`announce_each`].
#[derive(Debug, Clone)]
pub struct Announcement {
    /// The tenant; each announcement of a call has another one.
    pub tenant: Uuid,
    /// The organization that the event is about.
    pub organization: Option<Uuid>,
    /// The event; without one, the stream is updated all the same, so that the amount of work does not reveal whether there was an event.
    pub event: Option<Event>,
}

/// Writes at most one event for each of several tenants, with one statement. The connection sees all tenants.
///
/// # Errors
/// When the database can't be reached.
pub async fn announce_each(
    connection: &mut AsyncPgConnection,
    call: &Call,
    announcements: &[Announcement],
) -> Result<()> {
    let ids = call.platform().ids();
    let mut rows = EventRows::default();
    for one in announcements {
        match &one.event {
            Some(event) => rows.push(ids.at(call.now), event, one.tenant, one.organization),
            None => rows.push_nothing(ids.at(call.now)),
        }
    }
    let statement = sql_query(
        "with wanted as (
            select * from unnest($1, $2, $3, $4, $5, $6, $7, $10, $11, $12)
                as w (tenant_id, stream_id, event_id, organization_id, name, payload, events, browser, feature, audience)
        ), stream as (
            insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
            select tenant_id, stream_id, 'log', events, $8, $8 from wanted order by tenant_id
            on conflict (tenant_id, name) do update set last_seq = s.last_seq + excluded.last_seq, updated_at = $8
            returning tenant_id, last_seq
        ), versioned as (
            insert into core_collections as c (tenant_id, id, kind, version, created_at, updated_at)
            select w.tenant_id, w.stream_id, regexp_replace(w.name, '\\.[^.]*$', ''), 1, $8, $8
            from wanted w join stream on stream.tenant_id = w.tenant_id order by w.tenant_id
            on conflict (tenant_id, kind) do update set version = c.version + 1, updated_at = $8
        )
        insert into core_outbox_events
            (tenant_id, id, seq, organization_id, name, payload, browser, feature, audience_id, request_id, occurred_at,
             created_at, updated_at)
        select w.tenant_id, w.event_id, stream.last_seq, w.organization_id, w.name, w.payload, w.browser, w.feature, w.audience,
            $9, $8, $8, $8
        from wanted w join stream on stream.tenant_id = w.tenant_id where w.events = 1",
    )
    .bind::<Array<SqlUuid>, _>(announcements.iter().map(|one| one.tenant).collect::<Vec<_>>())
    .bind::<Array<SqlUuid>, _>(announcements.iter().map(|_| ids.at(call.now)).collect::<Vec<_>>())
    .bind::<Array<SqlUuid>, _>(rows.ids)
    .bind::<Array<Nullable<SqlUuid>>, _>(rows.organizations)
    .bind::<Array<Text>, _>(rows.names)
    .bind::<Array<Jsonb>, _>(rows.payloads)
    .bind::<Array<BigInt>, _>(announcements.iter().map(|one| i64::from(one.event.is_some())).collect::<Vec<_>>())
    .bind::<Timestamptz, _>(call.now)
    .bind::<Text, _>(&call.request_id)
    .bind::<Array<Bool>, _>(rows.browsers)
    .bind::<Array<Nullable<Text>>, _>(rows.features)
    .bind::<Array<Nullable<SqlUuid>>, _>(rows.audiences);
    Prepared(statement).execute(connection).await?;
    let platform = call.platform();
    let wanted = |one: &&Announcement| {
        let event = one.event.as_ref();
        event.is_some_and(|event| platform.subscribers().want(slice::from_ref(&event.name)))
    };
    let tenants = announcements.iter().filter(wanted).map(|one| one.tenant);
    platform.commit_notifier().notify(tenants);
    Ok(())
}
