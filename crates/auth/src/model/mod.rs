//! Rows and entities.

mod acl;
mod consent;
mod role;
mod user;

pub use acl::{RoleAcl, RoleAclRow, UserAcl, UserAclRow};
pub(crate) use acl::{acl_of, acl_of_user, store_role_acls, store_user_acls};
pub use consent::{Consent, ConsentRow};
pub use role::{Role, RoleRow};
pub(crate) use user::last_super_admin;
pub use user::{User, UserRoleRow, UserRow};
