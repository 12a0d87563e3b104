//! The commands on keys.

mod create_key;
mod delete_key;

pub(crate) use create_key::name_and_description;
pub use create_key::{CreateKey, KeyCreated, NewKeyInput};
pub use delete_key::DeleteKey;
