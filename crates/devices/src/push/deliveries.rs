//! The rows of deliveries.

use backoffice_core::command::Entity;
use backoffice_core::db::Prepared;
use backoffice_core::{Call, Result, Scope, Timestamp, events};
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use super::Providers;
use super::attempt::label;
use super::message::Payload;
use super::outcome::Outcome;
use super::recipients::{DeviceRow, Recipient};
use crate::model::Device;

/// Writes the deliveries of a batch: one for each device of the recipients that has a token. A repeat of a notification is delivered again. The ids
/// are derived from `$2`, which is the id of the batch, so that one statement writes any number.
const WRITE: &str = "\
insert into devices_push_deliveries as p (tenant_id, id, notification_id, device_row_id, user_id, batch_id, provider, payload, status, attempts,
    due_at, created_at, updated_at)
select $1, (substr($2::text, 1, 14) || '7' || substr(md5($2::text || n.id || d.id)::uuid::text, 16))::uuid, n.id, d.id, n.recipient, $2,
    coalesce(d.push_provider, case d.platform when 'ios' then $7 when 'android' then $8 else $9 end), n.payload, 'pending', 0, $3, $3, $3
from unnest($4, $5, $6) as n (id, recipient, payload)
cross join lateral (
    select d.id, d.push_provider, d.platform from devices_devices d
    where d.tenant_id = $1 and d.user_id = n.recipient and d.deleted_at is null and d.push_token_hash is not null
    limit 1000
) d
order by d.id, n.id
on conflict (tenant_id, notification_id, device_row_id) do update
set batch_id = excluded.batch_id, provider = excluded.provider, payload = excluded.payload, status = 'pending', attempts = 0,
    due_at = excluded.due_at, error = null, created_at = excluded.created_at, updated_at = excluded.updated_at";

/// A notification to deliver: its id, its recipient, and the content.
pub(crate) struct ToDeliver {
    /// The notification.
    pub(crate) notification: Uuid,
    /// The user.
    pub(crate) recipient: Uuid,
    /// The content, as JSON.
    pub(crate) payload: Value,
}

/// Writes the deliveries of notifications, with one statement; returns their number.
pub(crate) async fn write(
    connection: &mut AsyncPgConnection,
    providers: &Providers,
    (tenant, batch, now): (Uuid, Uuid, Timestamp),
    new: Vec<ToDeliver>,
) -> Result<usize> {
    let (mut ids, mut recipients, mut payloads) = (Vec::new(), Vec::new(), Vec::new());
    for one in new {
        ids.push(one.notification);
        recipients.push(one.recipient);
        payloads.push(one.payload);
    }
    let statement = sql_query(WRITE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(batch)
        .bind::<Timestamptz, _>(now)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<SqlUuid>, _>(recipients)
        .bind::<Array<Jsonb>, _>(payloads)
        .bind::<Text, _>(providers.default_of("ios").to_owned())
        .bind::<Text, _>(providers.default_of("android").to_owned())
        .bind::<Text, _>(providers.default_of("web").to_owned());
    Ok(Prepared(statement).execute(connection).await?)
}

/// The columns of devices that a message needs.
const DEVICE: &str = "d.id as device_id, d.platform, d.push_provider, d.locale, d.push_token, d.push_token_hash, d.push_token_updated_at, d.push_key";

/// A delivery that is due, with its device.
#[derive(QueryableByName)]
pub(crate) struct Due {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) notification_id: Option<Uuid>,
    #[diesel(sql_type = Jsonb)]
    payload: Value,
    #[diesel(sql_type = Integer)]
    pub(crate) attempts: i32,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) created_at: Timestamp,
    #[diesel(sql_type = Bool)]
    is_tenant_deleted: bool,
    #[diesel(embed)]
    device: Columns,
}

#[derive(QueryableByName)]
struct Columns {
    #[diesel(sql_type = SqlUuid)]
    device_id: Uuid,
    #[diesel(sql_type = Text)]
    platform: String,
    #[diesel(sql_type = Nullable<Text>)]
    push_provider: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    locale: Option<String>,
    #[diesel(sql_type = Nullable<Binary>)]
    push_token: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<Binary>)]
    push_token_hash: Option<Vec<u8>>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    push_token_updated_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Text>)]
    push_key: Option<String>,
}

impl From<Columns> for DeviceRow {
    fn from(row: Columns) -> Self {
        Self {
            id: row.device_id,
            platform: row.platform,
            provider: row.push_provider,
            locale: row.locale,
            token: row.push_token,
            token_hash: row.push_token_hash,
            token_updated_at: row.push_token_updated_at,
            push_key: row.push_key,
        }
    }
}

impl Due {
    /// Returns the content; `None` if it is not of this version.
    pub(crate) fn payload(&self) -> Option<Payload> {
        serde_json::from_value(self.payload.clone()).ok()
    }

    /// Returns the delivery without its device, and the device.
    pub(crate) fn split(self) -> (Delivery, DeviceRow) {
        let delivery = Delivery {
            id: self.id,
            notification: self.notification_id,
            payload: self.payload(),
            attempts: self.attempts,
            created_at: self.created_at,
            is_tenant_deleted: self.is_tenant_deleted,
        };
        (delivery, self.device.into())
    }
}

/// A delivery that is due.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// The id.
    pub(crate) id: Uuid,
    /// The notification; none for a test message.
    pub(crate) notification: Option<Uuid>,
    /// The content; none if another version wrote it.
    pub(crate) payload: Option<Payload>,
    /// The number of attempts.
    pub(crate) attempts: i32,
    /// The time of the notification.
    pub(crate) created_at: Timestamp,
    /// Whether the tenant has been deleted since.
    pub(crate) is_tenant_deleted: bool,
}

/// Returns the first deliveries of a batch that are due.
pub(crate) async fn due(call: &Call, tenant: Uuid, batch: Uuid, now: Timestamp, most: usize) -> Result<Vec<Due>> {
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    let statement = sql_query(format!(
        "select p.id, p.notification_id, p.payload, p.attempts, p.created_at, \
             exists (select from directory_tenants t where t.tenant_id = $1 and t.id = $1 and t.deleted_at is not null) as is_tenant_deleted, \
             {DEVICE} from devices_push_deliveries p \
         join devices_devices d on d.tenant_id = p.tenant_id and d.id = p.device_row_id \
         where p.tenant_id = $1 and p.batch_id = $2 and p.status = 'pending' and p.due_at <= $3 order by p.due_at, p.id limit $4"
    ))
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(batch)
    .bind::<Timestamptz, _>(now)
    .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX));
    Ok(Prepared(statement).get_results(&mut &**connection).await?)
}

/// Returns a live device and its user.
pub(crate) async fn device(call: &Call, tenant: Uuid, id: Uuid) -> Result<Option<DeviceRow>> {
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    let statement = sql_query(format!(
        "select {DEVICE} from devices_devices d where d.tenant_id = $1 and d.id = $2 and d.deleted_at is null"
    ))
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(id);
    let found: Option<Columns> = Prepared(statement).get_result(&mut &**connection).await.optional()?;
    Ok(found.map(DeviceRow::from))
}

#[derive(QueryableByName)]
struct Next {
    #[diesel(sql_type = Nullable<Timestamptz>)]
    due_at: Option<Timestamp>,
}

/// Returns when the next delivery of a batch is due, if one is pending.
pub(crate) async fn next_due(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    batch: Uuid,
) -> Result<Option<Timestamp>> {
    let statement = sql_query(
        "select min(due_at) as due_at from devices_push_deliveries where tenant_id = $1 and batch_id = $2 and status = 'pending'",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(batch);
    let next: Next = Prepared(statement).get_result(connection).await?;
    Ok(next.due_at)
}

/// An outcome to note.
pub(crate) struct Noted<'a> {
    /// The delivery.
    pub(crate) delivery: &'a Delivery,
    /// Its device.
    pub(crate) recipient: &'a Recipient,
    /// The outcome.
    pub(crate) outcome: Outcome,
}

/// Notes outcomes of a batch, and removes the tokens that are no longer valid, as the last statements of the transaction. A delivery that belongs to
/// a later batch by now stays as it is.
pub(crate) async fn note(
    connection: &mut AsyncPgConnection,
    call: &Call,
    providers: &Providers,
    (tenant, batch, now): (Uuid, Uuid, Timestamp),
    noted: &[Noted<'_>],
) -> Result<()> {
    let (mut ids, mut names, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let (mut statuses, mut attempts, mut dues, mut errors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for one in noted {
        let state = one.outcome.state(one.delivery.attempts, now, call.platform().ids());
        ids.push(one.delivery.id);
        names.push(one.recipient.provider.as_str());
        ends.push(one.recipient.last4());
        statuses.push(state.status);
        attempts.push(state.attempts);
        dues.push(state.due);
        errors.push(state.error);
        let provider = label(providers, &one.recipient.provider);
        metrics::counter!("push_deliveries_total", "provider" => provider, "outcome" => state.label).increment(1);
    }
    let statement = sql_query(
        "update devices_push_deliveries p set provider = n.provider, token_last4 = n.last4, status = n.status, attempts = n.attempts, \
             due_at = n.due_at, error = n.error, updated_at = $3 \
         from unnest($4, $5, $6, $7, $8, $9, $10) as n (id, provider, last4, status, attempts, due_at, error) \
         where p.tenant_id = $1 and p.id = n.id and p.batch_id = $2 and p.status = 'pending'",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(batch)
    .bind::<Timestamptz, _>(now)
    .bind::<Array<SqlUuid>, _>(ids)
    .bind::<Array<Text>, _>(names)
    .bind::<Array<Nullable<Text>>, _>(ends)
    .bind::<Array<Text>, _>(statuses)
    .bind::<Array<Integer>, _>(attempts)
    .bind::<Array<Timestamptz>, _>(dues)
    .bind::<Array<Nullable<Text>>, _>(errors);
    Prepared(statement).execute(&mut *connection).await?;
    let ended = noted.iter().filter(|one| one.outcome == Outcome::Unregistered);
    let ended: Vec<&Recipient> = ended.map(|one| one.recipient).collect();
    remove_tokens(connection, call, (tenant, now), &ended).await
}

/// Removes the tokens of devices that still have them.
pub(crate) async fn remove_tokens(
    connection: &mut AsyncPgConnection,
    call: &Call,
    (tenant, now): (Uuid, Timestamp),
    ended: &[&Recipient],
) -> Result<()> {
    if ended.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = ended.iter().map(|one| one.row.id).collect();
    let hashes: Vec<Option<&[u8]>> = ended.iter().map(|one| one.row.token_hash.as_deref()).collect();
    let statement = sql_query(
        "update devices_devices d set push_token = null, push_token_hash = null, push_token_updated_at = $2 \
         from unnest($3, $4) as e (id, hash) where d.tenant_id = $1 and d.id = e.id and d.push_token_hash = e.hash",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<Timestamptz, _>(now)
    .bind::<Array<SqlUuid>, _>(ids)
    .bind::<Array<Nullable<Binary>>, _>(hashes);
    if Prepared(statement).execute(&mut *connection).await? > 0 {
        events::touch(connection, call, tenant, &[Device::KIND]).await?;
    }
    Ok(())
}
