//! Bulk operations on deals.

mod update_owner;
mod update_stage;

use backoffice_core::command::BatchItem;
use backoffice_core::registry::Registry;
use backoffice_core::{Rejection, Result};
use backoffice_progress::bulk;
use uuid::Uuid;

pub use update_owner::BulkUpdateOwner;
pub use update_stage::BulkUpdateStage;

pub(crate) fn register(registry: &mut Registry) {
    bulk::register::<BulkUpdateOwner>(registry);
    bulk::register::<BulkUpdateStage>(registry);
}

/// Returns the same rejection for each of these items.
pub(crate) fn all_rejected<C>(items: &[&BatchItem<'_, C>], rejection: &Rejection) -> Vec<(Uuid, Rejection)> {
    items.iter().map(|item| (item.id, rejection.clone())).collect()
}

/// Separates a rejection, which the client receives, from an internal error.
pub(crate) fn rejected<T>(outcome: Result<T>) -> Result<Result<T, Box<Rejection>>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(backoffice_core::Error::Rejected(rejection)) => Ok(Err(rejection)),
        Err(error) => Err(error),
    }
}
