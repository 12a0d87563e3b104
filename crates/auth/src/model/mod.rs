//! Rows and entities.

mod acl;
mod role;
mod user;

pub use acl::{RoleAcl, RoleAclRow, UserAcl, UserAclRow};
pub(crate) use acl::{acl_of, store_role_acls};
pub use role::{Role, RoleRow};
pub(crate) use user::last_super_admin;
pub use user::{User, UserRoleRow, UserRow};
