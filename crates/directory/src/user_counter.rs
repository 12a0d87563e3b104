//! How many users a tenant has: known to a module that this one does not know.

use std::collections::HashMap;
use std::sync::Arc;

use backoffice_core::Result;
use backoffice_core::db::Connection;
use futures_util::future::BoxFuture;
use uuid::Uuid;

/// Counts the users of tenants.
pub trait UserCounter: Send + Sync + 'static {
    /// Live users of each of these tenants, in one statement; a tenant without users may be left out.
    fn count<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenants: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, i64>>>;
}

/// What the module that owns users provides at its start: `startup.provide(Arc::new(UserCounterHandle(counter)))`. Without it a
/// tenant has no users.
#[derive(Clone)]
pub struct UserCounterHandle(pub Arc<dyn UserCounter>);

impl std::fmt::Debug for UserCounterHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserCounterHandle").finish_non_exhaustive()
    }
}
