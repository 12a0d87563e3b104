//! Sidebar settings: a user's own, those of a role, and named variants.

mod children;
mod preference;
mod role_preference;
mod variant;

pub(crate) use children::{RoleSidebar, UserSidebar};
pub use preference::SidebarPreference;
pub use role_preference::RoleSidebarPreference;
pub use variant::SidebarVariant;
