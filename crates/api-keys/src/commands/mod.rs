//! The commands on keys.

mod create_key;
mod delete_key;

pub use create_key::{CreateKey, KeyCreated, NewKeyInput};
pub(crate) use create_key::{KeyFields, name_and_description};
pub use delete_key::DeleteKey;
