//! Sidebar settings of users and roles.

pub(crate) mod commands;
pub(crate) mod http;
mod maps;
pub(crate) mod model;
pub mod query;
mod row_id;
mod settings;

pub(crate) use row_id::row_id;
pub(crate) use settings::SettingsInput;
pub use settings::SidebarSettings;
