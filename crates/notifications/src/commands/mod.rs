//! The commands.

mod update_preferences;

pub use update_preferences::{PreferenceChange, UpdatePreferences};
