//! The commands on keys.

mod create_key;
mod delete_key;

pub use create_key::{CreateKey, KeyCreated, NewKeyInput};
pub use delete_key::DeleteKey;
