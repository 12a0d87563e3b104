//! The number of commands that write to a tenant at once.

use std::time::Duration;

use uuid::Uuid;

use crate::context::RequestContext;
use crate::turns::{Turn, Turns};

/// Number of commands of a tenant that a process executes at once. Their logs wait for each other in any case. With more of them, each commit wakes
/// all transactions that wait for its lock, and all but one wait again.
const AT_ONCE: usize = 6;

/// Longest wait. Order and consistency do not depend on a turn: PostgreSQL locks the stream of the tenant. A command that is executed by
/// another one, or after six slow ones, begins without a turn.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The turns of the tenants.
#[derive(Debug)]
pub(crate) struct WriteTurns(Turns<Uuid>);

impl Default for WriteTurns {
    fn default() -> Self {
        Self(Turns::new(AT_ONCE))
    }
}

impl RequestContext {
    /// Waits until few enough commands write to this tenant, or for 100 ms. The command has no connection yet. The turn ends when it is
    /// dropped.
    pub(super) async fn write_turn(&self, tenant: Uuid) -> Option<Turn<'_, Uuid>> {
        let WriteTurns(turns) = self.platform().services::<WriteTurns>();
        turns.take(tenant, LONGEST_WAIT).await
    }
}
