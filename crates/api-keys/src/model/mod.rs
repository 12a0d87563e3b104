//! What this module keeps.

mod key;

pub use key::{Key, KeyRoleRow, KeyRow};
