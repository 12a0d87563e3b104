//! What the module does after commands of other modules.

use backoffice_core::command::Entity;
use backoffice_core::context::Call;
use backoffice_core::db::Recurring;
use backoffice_core::events::{StoredEvent, Subscriber};
use backoffice_core::{Result, events};
use diesel::dsl::{exists, not};
use diesel::{ExpressionMethods, QueryDsl, update};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::foreign::auth_users as users;
use crate::model::Device;
use crate::schema::devices_devices as devices;

/// Destroys the tokens of deleted users.
pub(crate) const FORGET_TOKENS: Subscriber = Subscriber {
    id: "devices.forget_tokens",
    patterns: &["auth.user.deleted"],
    handler: |connection, call, event| Box::pin(forget_tokens(connection, call, event)),
    replay: false,
};

async fn forget_tokens(connection: &mut AsyncPgConnection, call: &Call, event: &StoredEvent) -> Result<()> {
    let id = event.payload.get("id").and_then(|id| id.as_str());
    let Some(user) = id.and_then(|id| id.parse::<Uuid>().ok()) else {
        return Ok(());
    };
    // The deletion may have been undone before its event arrives.
    let is_back = users::table
        .filter(users::tenant_id.eq(event.tenant_id))
        .filter(users::id.eq(user))
        .filter(users::deleted_at.is_null());
    let tokens = devices::table
        .filter(devices::tenant_id.eq(event.tenant_id))
        .filter(devices::user_id.eq(user))
        .filter(devices::push_token_hash.is_not_null())
        .filter(not(exists(is_back)));
    let found = update(tokens)
        .set((
            devices::push_token.eq(None::<Vec<u8>>),
            devices::push_token_hash.eq(None::<Vec<u8>>),
            devices::push_token_updated_at.eq(call.now),
        ))
        .prepared()
        .execute(&mut *connection)
        .await?;
    if found > 0 {
        events::touch(connection, call, event.tenant_id, &[Device::KIND]).await?;
    }
    Ok(())
}
