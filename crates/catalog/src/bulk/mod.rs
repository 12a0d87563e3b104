//! Bulk deletion of products.

mod delete;
mod filter;
mod schema;

use backoffice_core::registry::Registry;
use backoffice_progress::bulk;

pub use delete::BulkDelete;
pub use filter::{BulkScope, DeleteFilter, List};

pub(crate) fn register(registry: &mut Registry) {
    bulk::register::<BulkDelete>(registry);
}
