//! Roles, and the access control lists of roles and users.

mod acl;
mod role;

pub use acl::{RoleAcl, UserAcl};
pub use role::Role;
