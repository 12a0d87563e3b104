//! Rows and entities. The row of an entity's table is the entity.

mod acl;
mod consent;
mod role;
mod sidebar;
mod stored;
mod user;

pub use acl::{RoleAcl, UserAcl};
pub use consent::Consent;
pub use role::Role;
pub use sidebar::{RoleSidebarPreference, SidebarPreference, SidebarVariant};
pub use user::{User, UserRole};
