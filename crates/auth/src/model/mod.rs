//! Rows and entities.

mod acl;
mod role;
mod user;

pub use acl::{RoleAcl, RoleAclRow, UserAcl, UserAclRow};
pub(crate) use acl::{acl_of, acl_of_user, store_role_acls, store_user_acls};
pub use role::{Role, RoleRow};
pub use user::{User, UserRoleRow, UserRow};
