//! Rows and entities of this module.

mod key;

pub use key::{Key, KeyRoleRow};
