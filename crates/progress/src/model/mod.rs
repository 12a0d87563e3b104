//! What this module keeps.

mod job;
mod status;

pub use job::{JobRow, KIND, ProgressJob};
pub use status::Status;
