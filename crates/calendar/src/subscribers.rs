//! What the module does after commands of other modules.

use backoffice_core::context::Call;
use backoffice_core::db::Recurring;
use backoffice_core::events::{StoredEvent, Subscriber};
use backoffice_core::jobs::{NewJob, enqueue};
use backoffice_core::{Result, events};
use diesel::sql_query;
use diesel::sql_types::Uuid as SqlUuid;
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::foreign::USER_EXISTS;
use crate::jobs::ForgetFeeds;
use crate::model::FEED;

/// Deletes the feeds of deleted users.
pub(crate) const FORGET_USER: Subscriber = Subscriber {
    id: "calendar.forget_user",
    patterns: &["auth.user.deleted"],
    handler: |connection, call, event| Box::pin(forget(connection, call, event)),
    replay: false,
};

const FORGET: &str = "delete from calendar_feeds where tenant_id = $1 and user_tenant_id is null and user_id = $2";

async fn forget(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let id = event.payload.get("id").and_then(|id| id.as_str());
    let Some(user) = id.and_then(|id| id.parse::<Uuid>().ok()) else {
        return Ok(());
    };
    let forgotten = sql_query(format!("{FORGET} and not {USER_EXISTS}"))
        .bind::<SqlUuid, _>(event.tenant_id)
        .bind::<SqlUuid, _>(user)
        .prepared()
        .execute(&mut *connection)
        .await?;
    // The connection sees the tenant of the user only.
    let job = ForgetFeeds {
        tenant: event.tenant_id,
        user,
    };
    enqueue(connection, call, &NewJob::of_system(event.tenant_id, job)).await?;
    if forgotten > 0 {
        events::touch(connection, call, event.tenant_id, &[FEED]).await?;
    }
    Ok(())
}
