//! What the module does after commands of other modules.

use backoffice_core::Result;
use backoffice_core::context::Call;
use backoffice_core::db::Recurring;
use backoffice_core::events::{StoredEvent, Subscriber};
use diesel::sql_query;
use diesel::sql_types::Uuid as SqlUuid;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

/// Deletes the notifications and preferences of deleted users.
pub(crate) const FORGET_USER: Subscriber = Subscriber {
    id: "notifications.forget_user",
    patterns: &["auth.user.deleted"],
    handler: |connection, call, event| Box::pin(forget(connection, call, event)),
    replay: false,
};

/// Deletes nothing if the deletion of the user was undone before its event was delivered.
const FORGET: [&str; 2] = [
    "delete from notifications_notifications where tenant_id = $1 and recipient_user_id = $2
     and not exists (select from auth_users u where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null)",
    "delete from notifications_preferences where tenant_id = $1 and user_id = $2
     and not exists (select from auth_users u where u.tenant_id = $1 and u.id = $2 and u.deleted_at is null)",
];

async fn forget(connection: &mut AsyncPgConnection, _call: &Call, event: &StoredEvent) -> Result<()> {
    let id = event.payload.get("id").and_then(|id| id.as_str());
    let Some(user) = id.and_then(|id| id.parse::<Uuid>().ok()) else {
        return Ok(());
    };
    for statement in FORGET {
        sql_query(statement)
            .bind::<SqlUuid, _>(event.tenant_id)
            .bind::<SqlUuid, _>(user)
            .prepared()
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
