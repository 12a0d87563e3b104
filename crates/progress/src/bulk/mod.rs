//! Bulk operations: a request that starts a job, and the worker that runs its items.

mod event;
mod operation;
mod outcome;
mod run;
mod start;
mod state;

pub use operation::{BulkOperation, MAX_ITEMS, checked_ids, register, validate_ids};
pub use start::{StartBulk, Started, start, start_matching};

pub(crate) use event::{event_name, shown};
pub(crate) use operation::BulkKind;
