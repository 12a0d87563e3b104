//! How many executions are under way at once.
//!
//! An execution takes up to a minute and keeps its thread busy while it evaluates conditions. The limit of requests per minute does not bound how many of
//! them are under way: those of one caller would slow down all other requests of the process.

use std::sync::Arc;

use actix_web::http::StatusCode;
use backoffice_core::identity::Identity;
use backoffice_core::shares::{Share, Shares};
use backoffice_core::{Error, Rejection, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Executions of a user or API key that are under way at once.
const MOST_OF_PRINCIPAL: usize = 2;
/// Executions of the callers of a tenant that are under way at once.
const MOST_OF_TENANT: usize = 4;
/// Executions of a process that are under way at once for each core, and for a process with few cores, so that one tenant does not take all of them.
const MOST_OF_CORE: usize = 2;
const LEAST_OF_PROCESS: usize = 8;
/// Seconds after which a caller may repeat a request that was rejected.
const RETRY_AFTER: u64 = 1;

/// The slots of the executions of this process.
#[derive(Debug)]
pub(crate) struct ExecutionSlots {
    of_principals: Shares<Uuid>,
    of_tenants: Shares<Uuid>,
    of_process: Arc<Semaphore>,
}

impl Default for ExecutionSlots {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let most = cores.saturating_mul(MOST_OF_CORE).max(LEAST_OF_PROCESS);
        Self {
            of_principals: Shares::default(),
            of_tenants: Shares::default(),
            of_process: Arc::new(Semaphore::new(most)),
        }
    }
}

/// The slot of an execution; released when dropped.
#[derive(Debug)]
pub(super) struct ExecutionSlot {
    _of_principal: Share<Uuid>,
    _of_tenant: Share<Uuid>,
    _of_process: OwnedSemaphorePermit,
}

impl ExecutionSlots {
    /// Takes a slot for an execution in a tenant.
    ///
    /// # Errors
    /// 429 `too_many_executions` when the caller, the tenant or the process has no more.
    pub(super) fn take(&self, tenant: Uuid, caller: &Identity) -> Result<ExecutionSlot> {
        let principal = caller.id.unwrap_or_default();
        let of_principal = self.of_principals.take(principal, MOST_OF_PRINCIPAL);
        let of_principal = of_principal.ok_or_else(too_many)?;
        let of_tenant = self.of_tenants.take(tenant, MOST_OF_TENANT).ok_or_else(too_many)?;
        let of_process = Arc::clone(&self.of_process).try_acquire_owned();
        Ok(ExecutionSlot {
            _of_principal: of_principal,
            _of_tenant: of_tenant,
            _of_process: of_process.map_err(|_| too_many())?,
        })
    }
}

fn too_many() -> Error {
    let text = "Too many executions are under way; repeat the request later";
    let rejection = Rejection::new(StatusCode::TOO_MANY_REQUESTS, text).code("too_many_executions");
    Rejection {
        retry_after: Some(RETRY_AFTER),
        ..rejection
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(id: u128) -> Identity {
        Identity {
            id: Some(Uuid::from_u128(id)),
            ..Identity::system()
        }
    }

    #[test]
    fn callers_and_tenants_leave_slots_to_others() {
        let slots = ExecutionSlots::default();
        let take = |tenant: u128, id: u128| slots.take(Uuid::from_u128(tenant), &caller(id)).ok();

        let mut held: Vec<_> = (0..3).map(|_| take(1, 1)).collect();
        assert_eq!(held.iter().flatten().count(), 2, "of a caller");
        held.extend((0..3).map(|number| take(1, 2 + number)));
        assert_eq!(held.iter().flatten().count(), 4, "of a tenant");
        held.push(take(2, 9));
        assert_eq!(held.iter().flatten().count(), 5, "another tenant");

        held.clear();
        assert!(take(1, 1).is_some());
    }

    #[test]
    fn the_slots_of_a_process_are_bounded() {
        let slots = ExecutionSlots::default();
        let most = slots.of_process.available_permits();
        let take = |number: usize| {
            let id = u128::try_from(number).expect("a number");
            slots.take(Uuid::from_u128(id), &caller(id))
        };

        let held: Vec<_> = (0..most).map(take).collect();
        assert!(most >= 2 * MOST_OF_TENANT && held.iter().all(Result::is_ok));
        let rejection = take(most).expect_err("no slot is left").to_rejection();
        assert_eq!((rejection.status.as_u16(), rejection.retry_after), (429, Some(1)));

        drop(held);
        assert!(take(most).is_ok());
    }
}
