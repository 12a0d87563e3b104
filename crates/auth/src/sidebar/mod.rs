//! Sidebar settings of users and roles.

mod maps;
mod row_id;
mod settings;

pub(crate) use row_id::row_id;
pub(crate) use settings::SettingsInput;
pub use settings::SidebarSettings;
