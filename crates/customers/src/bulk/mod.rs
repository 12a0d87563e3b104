//! Bulk operations on deals.

mod update_owner;
mod update_stage;

use backoffice_core::registry::Registry;
use backoffice_core::{Rejection, Result};
use backoffice_progress::bulk;
use uuid::Uuid;

pub use update_owner::BulkUpdateOwner;
pub use update_stage::BulkUpdateStage;

use crate::model::Deal;

pub(crate) fn register(registry: &mut Registry) {
    bulk::register::<BulkUpdateOwner>(registry);
    bulk::register::<BulkUpdateStage>(registry);
}

/// Returns the same rejection for each of these deals.
pub(crate) fn all_rejected(deals: &[Deal], rejection: &Rejection) -> Vec<(Uuid, Rejection)> {
    deals.iter().map(|deal| (deal.id, rejection.clone())).collect()
}

/// Separates a rejection, which the client receives, from an internal error.
pub(crate) fn rejected<T>(outcome: Result<T>) -> Result<Result<T, Box<Rejection>>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(backoffice_core::Error::Rejected(rejection)) => Ok(Err(rejection)),
        Err(error) => Err(error),
    }
}
