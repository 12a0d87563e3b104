//! Groups of notifications: what a module does with all notifications about one subject.

use backoffice_core::db::Prepared;
use backoffice_core::{Call, Result};
use diesel::sql_query;
use diesel::sql_types::{Array, Text, Timestamptz, Uuid as SqlUuid};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

/// Rows are locked in the order of sending, so that two transactions do not wait for each other.
const DISMISS: &str = "\
with found as (
    select tenant_id, id from notifications_notifications
    where tenant_id = $1 and type = any($2) and group_key = any($3) and status <> 'dismissed'
    order by recipient_user_id, type, group_key, id for update
)
update notifications_notifications n set status = 'dismissed', dismissed_at = $4, updated_at = $4
from found where n.tenant_id = found.tenant_id and n.id = found.id";

const READ: &str = "\
update notifications_notifications set status = 'read', read_at = $5, updated_at = $5
where tenant_id = $1 and recipient_user_id = $2 and type = any($3) and group_key = any($4) and status = 'unread'";

/// Dismisses the notifications of these types and groups for all recipients, in a transaction that sees the tenant.
///
/// # Errors
/// When the database can't be reached.
pub async fn dismiss_groups(
    connection: &mut AsyncPgConnection,
    call: &Call,
    tenant: Uuid,
    types: &[&str],
    groups: &[String],
) -> Result<()> {
    let statement = sql_query(DISMISS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<Text>, _>(types)
        .bind::<Array<Text>, _>(groups)
        .bind::<Timestamptz, _>(call.now);
    Prepared(statement).execute(connection).await?;
    Ok(())
}

/// Marks the notifications of these types and groups as read for one recipient, in a transaction that sees the tenant.
///
/// # Errors
/// When the database can't be reached.
pub async fn read_groups(
    connection: &mut AsyncPgConnection,
    call: &Call,
    (tenant, recipient): (Uuid, Uuid),
    types: &[&str],
    groups: &[String],
) -> Result<()> {
    let statement = sql_query(READ)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(recipient)
        .bind::<Array<Text>, _>(types)
        .bind::<Array<Text>, _>(groups)
        .bind::<Timestamptz, _>(call.now);
    Prepared(statement).execute(connection).await?;
    Ok(())
}
