//! Bulk operations on deals.

mod update_owner;
mod update_stage;

use backoffice_core::command::BatchItem;
use backoffice_core::registry::Registry;
use backoffice_core::{Refusal, Result};
use backoffice_progress::bulk;
use uuid::Uuid;

pub use update_owner::BulkUpdateOwner;
pub use update_stage::BulkUpdateStage;

pub(crate) fn register(registry: &mut Registry) {
    bulk::register::<BulkUpdateOwner>(registry);
    bulk::register::<BulkUpdateStage>(registry);
}

/// The same refusal for all of these.
pub(crate) fn all_refused<C>(items: &[&BatchItem<'_, C>], refusal: &Refusal) -> Vec<(Uuid, Refusal)> {
    items.iter().map(|item| (item.id, refusal.clone())).collect()
}

/// What a client is told, or the error that is nobody's fault but ours.
pub(crate) fn refused<T>(outcome: Result<T>) -> Result<Result<T, Box<Refusal>>> {
    match outcome {
        Ok(value) => Ok(Ok(value)),
        Err(backoffice_core::Error::Refused(refusal)) => Ok(Err(refusal)),
        Err(error) => Err(error),
    }
}
