//! The rows of deliveries.

use backoffice_core::command::{Entity, Tx};
use backoffice_core::db::{Prepared, Recurring};
use backoffice_core::jobs::{NewJob, enqueue, notify_after_commit};
use backoffice_core::{Call, Result, Scope, Timestamp};
use diesel::sql_types::{Array, BigInt, Bool, Integer, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{Insertable, QueryableByName, insert_into, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use super::SendWebhooks;
use super::outcome::State;
use crate::model::WebhookDelivery;
use crate::schema::business_rules_webhook_deliveries as deliveries;

/// Kind of the deliveries, for versions of their lists.
pub(crate) const DELIVERY: &str = WebhookDelivery::KIND;
/// Rows of one statement.
const CHUNK: usize = 100;

/// A webhook to send.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = deliveries, treat_none_as_default_value = false)]
pub(crate) struct NewDelivery {
    pub(crate) tenant_id: Uuid,
    pub(crate) id: Uuid,
    pub(crate) organization_id: Option<Uuid>,
    pub(crate) rule_id: Uuid,
    pub(crate) run_id: Uuid,
    pub(crate) batch_id: Uuid,
    pub(crate) url: String,
    pub(crate) method: String,
    pub(crate) headers: Value,
    pub(crate) body: String,
    pub(crate) status: String,
    pub(crate) attempts: i32,
    pub(crate) next_attempt_at: Timestamp,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
}

/// Writes deliveries, and the job that sends them after the commit. All have the same batch.
pub(crate) async fn write(connection: &mut AsyncPgConnection, call: &Call, new: &[NewDelivery]) -> Result<()> {
    let Some(first) = new.first() else { return Ok(()) };
    for chunk in new.chunks(CHUNK) {
        insert_into(deliveries::table)
            .values(chunk)
            .prepared_if(chunk.len() == 1)
            .execute(connection)
            .await?;
    }
    let job = SendWebhooks { batch: first.batch_id };
    enqueue(connection, call, &NewJob::of_system(first.tenant_id, job)).await?;
    Ok(())
}

/// Writes deliveries in the transaction of a command. Workers are notified after its commit.
pub(crate) async fn queue(tx: &mut Tx<'_>, new: &[NewDelivery]) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let ctx = tx.context();
    write(tx.conn(), ctx.call(), new).await?;
    notify_after_commit(tx);
    tx.changed(DELIVERY);
    Ok(())
}

/// A delivery that is due.
#[derive(Debug, Clone, QueryableByName)]
pub(super) struct Due {
    #[diesel(sql_type = SqlUuid)]
    pub(super) id: Uuid,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(super) organization_id: Option<Uuid>,
    #[diesel(sql_type = SqlUuid)]
    pub(super) rule_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(super) url: String,
    #[diesel(sql_type = Text)]
    pub(super) method: String,
    #[diesel(sql_type = Jsonb)]
    pub(super) headers: Value,
    #[diesel(sql_type = Text)]
    pub(super) body: String,
    #[diesel(sql_type = Integer)]
    pub(super) attempts: i32,
    /// Whether the tenant has been deleted since.
    #[diesel(sql_type = Bool)]
    pub(super) is_tenant_deleted: bool,
}

/// Returns the first deliveries of a batch that are due.
pub(super) async fn due(call: &Call, tenant: Uuid, batch: Uuid, now: Timestamp, most: usize) -> Result<Vec<Due>> {
    let connection = call.database().read_briefly(&Scope::tenant(tenant)).await?;
    let statement = sql_query(
        "select id, organization_id, rule_id, url, method, headers, body, attempts, \
             exists (select from directory_tenants t where t.tenant_id = $1 and t.id = $1 and t.deleted_at is not null) as is_tenant_deleted \
         from business_rules_webhook_deliveries \
         where tenant_id = $1 and batch_id = $2 and status = 'pending' and next_attempt_at <= $3 order by next_attempt_at, id limit $4",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(batch)
    .bind::<Timestamptz, _>(now)
    .bind::<BigInt, _>(i64::try_from(most).unwrap_or(i64::MAX));
    Ok(Prepared(statement).get_results(&mut &**connection).await?)
}

#[derive(QueryableByName)]
struct Next {
    #[diesel(sql_type = Nullable<Timestamptz>)]
    due: Option<Timestamp>,
}

/// Returns when the next delivery of a batch is due, if one is pending.
pub(super) async fn next_due(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    batch: Uuid,
) -> Result<Option<Timestamp>> {
    let statement = sql_query(
        "select min(next_attempt_at) as due from business_rules_webhook_deliveries \
         where tenant_id = $1 and batch_id = $2 and status = 'pending'",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(batch);
    let next: Next = Prepared(statement).get_result(connection).await?;
    Ok(next.due)
}

/// Notes the states of deliveries. A delivery that belongs to a later batch by now stays as it is.
pub(super) async fn note(
    connection: &mut AsyncPgConnection,
    (tenant, batch, now): (Uuid, Uuid, Timestamp),
    noted: &[(&Due, State)],
) -> Result<()> {
    let of = |take: fn(&State) -> Option<String>| noted.iter().map(|(_, state)| take(state)).collect::<Vec<_>>();
    let ids: Vec<Uuid> = noted.iter().map(|(due, _)| due.id).collect();
    let statuses: Vec<&str> = noted.iter().map(|(_, state)| state.status).collect();
    let attempts: Vec<i32> = noted.iter().map(|(_, state)| state.attempts).collect();
    let dues: Vec<Timestamp> = noted.iter().map(|(_, state)| state.due).collect();
    let responses: Vec<Option<i32>> = noted.iter().map(|(_, state)| state.response_status).collect();
    let errors = of(|state| state.error.clone());
    let statement = sql_query(
        "update business_rules_webhook_deliveries d set status = n.status, attempts = n.attempts, next_attempt_at = n.due, \
             response_status = n.response, error = n.error, updated_at = $3 \
         from unnest($4, $5, $6, $7, $8, $9) as n (id, status, attempts, due, response, error) \
         where d.tenant_id = $1 and d.id = n.id and d.batch_id = $2 and d.status = 'pending'",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(batch)
    .bind::<Timestamptz, _>(now)
    .bind::<Array<SqlUuid>, _>(ids)
    .bind::<Array<Text>, _>(statuses)
    .bind::<Array<Integer>, _>(attempts)
    .bind::<Array<Timestamptz>, _>(dues)
    .bind::<Array<Nullable<Integer>>, _>(responses)
    .bind::<Array<Nullable<Text>>, _>(errors);
    Prepared(statement).execute(connection).await?;
    Ok(())
}
