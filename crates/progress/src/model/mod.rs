//! Rows and entities.

mod item_state;
mod job;
mod status;

pub use item_state::ItemState;
pub use job::{KIND, ProgressJob};
pub use status::Status;
