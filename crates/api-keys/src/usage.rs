//! Times of the last use of keys: written in unlogged transactions, independently of the requests, at most once a minute for each key.

use backoffice_core::bounded_cache::BoundedCache;
use backoffice_core::db::Recurring;
use backoffice_core::events;
use backoffice_core::identity::Identity;
use backoffice_core::{Call, Result, Runtime, Scope, Timestamp};
use diesel::{BoolExpressionMethods, ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use time::Duration;
use uuid::Uuid;

use crate::schema::api_keys_keys as keys;

/// The kind whose version changes with the times of use.
pub(crate) const USAGE: &str = "api_keys.usage";
const MINUTE: Duration = Duration::MINUTE;
const REMEMBERED: u64 = 20_000;

/// Records the times of use. Other modules that act with the rights of a key, without its secret, record it here too.
#[derive(Debug)]
pub struct Usage {
    /// The uses that this node has recently recorded.
    noted: BoundedCache<Uuid, Timestamp>,
}

impl Usage {
    pub(crate) fn new() -> Self {
        Self {
            noted: BoundedCache::new(REMEMBERED),
        }
    }

    /// Records that the key is used now. The request neither waits for the write nor fails with it.
    pub fn note(&self, runtime: &Runtime, identity: &Identity, now: Timestamp) {
        let Some(id) = identity.id else { return };
        if self.noted.get(&id).is_some_and(|at| now < at.after(MINUTE)) {
            return;
        }
        self.noted.insert(id, now);
        let (runtime, tenant) = (runtime.clone(), identity.tenant);
        tokio::spawn(async move {
            if let Err(error) = write(&runtime, tenant, id, now).await {
                tracing::debug!(%error, "could not record the use of a key");
            }
        });
    }
}

/// Writes the time of use, unless any node did so within the last minute.
async fn write(runtime: &Runtime, tenant: Uuid, id: Uuid, now: Timestamp) -> Result<()> {
    let call = Call::internal(runtime);
    let mut transaction = runtime.database.transaction(&Scope::tenant(tenant)).await?;
    let connection = transaction.connection();
    let a_minute_ago = now.after(-MINUTE);
    diesel::update(
        keys::table
            .filter(keys::tenant_id.eq(tenant))
            .filter(keys::id.eq(id))
            .filter(keys::deleted_at.is_null())
            .filter(keys::last_used_at.is_null().or(keys::last_used_at.le(a_minute_ago))),
    )
    .set(keys::last_used_at.eq(now))
    .prepared()
    .execute(&mut **connection)
    .await?;
    events::touch(connection, &call, tenant, &[USAGE]).await?;
    transaction.commit().await
}
