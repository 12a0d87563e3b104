//! Sidebar settings: a user's own, those of a role, and named variants.

mod children;
mod preference;
mod role_preference;
mod variant;

pub(super) use children::{RoleSidebar, UserSidebar};
pub(crate) use preference::store_sidebar_preferences;
pub use preference::{SidebarPreference, SidebarPreferenceRow};
pub(crate) use role_preference::store_role_sidebar_preferences;
pub use role_preference::{RoleSidebarPreference, RoleSidebarPreferenceRow};
pub use variant::{SidebarVariant, SidebarVariantRow};
