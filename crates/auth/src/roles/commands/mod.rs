//! The commands on roles and access control lists.

mod grant_defaults;
mod role;
mod seed_role;
mod update_role_acl;
mod update_user_acl;

pub(crate) use grant_defaults::GrantDefaults;
pub use role::{CreateRole, DeleteRole, RoleInput, UpdateRole};
pub(crate) use seed_role::SeedRole;
pub use update_role_acl::{AclWritten, UpdateRoleAcl};
pub use update_user_acl::UpdateUserAcl;
