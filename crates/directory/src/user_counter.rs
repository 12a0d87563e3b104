//! Numbers of users, counted by a module that depends on this one.

use std::collections::HashMap;
use std::sync::Arc;

use backoffice_core::Result;
use backoffice_core::db::Connection;
use futures_util::future::BoxFuture;
use uuid::Uuid;

/// Counts the users of tenants.
pub trait UserCounter: Send + Sync + 'static {
    /// Counts the live users of each of these tenants with one statement; the result may omit tenants without users.
    fn count<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenants: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, i64>>>;
}

/// Handle that the module that owns users provides at its start: `startup.provide(Arc::new(UserCounterHandle(counter)))`. Without it
/// the list shows no users for any tenant.
#[derive(Clone)]
pub struct UserCounterHandle(pub Arc<dyn UserCounter>);

impl std::fmt::Debug for UserCounterHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserCounterHandle").finish_non_exhaustive()
    }
}
