//! What the module does after commands of other modules.

use backoffice_core::Result;
use backoffice_core::context::Call;
use backoffice_core::events::{StoredEvent, Subscriber};
use backoffice_core::jobs::{NewJob, enqueue};
use diesel::{ExpressionMethods, QueryDsl, delete};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::jobs::ForgetFeeds;
use crate::schema::calendar_feeds as feeds;

/// Deletes the feeds of deleted users.
pub(crate) const FORGET_USER: Subscriber = Subscriber {
    id: "calendar.forget_user",
    patterns: &["auth.user.deleted"],
    handler: |connection, call, event| Box::pin(forget(connection, call, event)),
    replay: false,
};

async fn forget(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let id = event.payload.get("id").and_then(|id| id.as_str());
    let Some(user) = id.and_then(|id| id.parse::<Uuid>().ok()) else {
        return Ok(());
    };
    delete(feeds::table.filter(feeds::tenant_id.eq(event.tenant_id)))
        .filter(feeds::user_tenant_id.is_null())
        .filter(feeds::user_id.eq(user))
        .execute(&mut *connection)
        .await?;
    // The connection sees the tenant of the user only.
    let job = ForgetFeeds {
        tenant: event.tenant_id,
        user,
    };
    enqueue(connection, call, &NewJob::of_system(event.tenant_id, job)).await?;
    Ok(())
}
