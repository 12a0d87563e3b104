//! The commands on keys.

mod create_key;
mod delete_key;

pub use create_key::{CreateKey, KeyGot, NewKeyInput, Place};
pub use delete_key::DeleteKey;
