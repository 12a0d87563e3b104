//! The commands on roles, their ACLs, users and sidebars.

mod create_user;
mod delete_user;
mod grant_defaults;
mod invite_user;
mod request_reset;
mod reset_password;
mod role;
mod role_links;
mod sidebar;
mod update_consent;
mod update_profile;
mod update_role_acl;
mod update_user;
mod update_user_acl;

pub use create_user::CreateUser;
pub use delete_user::DeleteUser;
pub(crate) use grant_defaults::GrantDefaults;
pub use invite_user::InviteUser;
pub(crate) use invite_user::check as check_invitable;
pub use request_reset::RequestReset;
pub use reset_password::ResetPassword;
pub use role::{CreateRole, DeleteRole, RoleInput, UpdateRole};
pub use sidebar::{
    CreateSidebarVariant, DeleteRoleSidebarPreference, DeleteSidebarVariant, RoleOfSidebar, SidebarVariantChanges,
    UpdateRoleSidebarPreference, UpdateSidebarPreference, UpdateSidebarVariant,
};
pub use update_consent::UpdateConsent;
pub use update_profile::UpdateProfile;
pub use update_role_acl::{AclWritten, UpdateRoleAcl};
pub use update_user::{UpdateUser, UserChanges};
pub use update_user_acl::UpdateUserAcl;
