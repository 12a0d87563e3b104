//! Rows and entities.

mod acl;
mod consent;
mod role;
mod sidebar;
mod stored;
mod user;

pub use acl::{RoleAcl, RoleAclRow, UserAcl, UserAclRow};
pub(crate) use acl::{acl_of, acl_of_user, store_role_acls, store_user_acls};
pub use consent::{Consent, ConsentRow};
pub use role::{Role, RoleRow};
pub use sidebar::{
    RoleSidebarPreference, RoleSidebarPreferenceRow, SidebarPreference, SidebarPreferenceRow, SidebarVariant,
    SidebarVariantRow,
};
pub(crate) use sidebar::{store_role_sidebar_preferences, store_sidebar_preferences};
pub use user::{User, UserRoleRow, UserRow};
