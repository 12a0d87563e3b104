//! Tenants and organizations as other modules and the command bus see them.

mod organization;
mod tenant;

pub use organization::Organization;
pub use tenant::Tenant;
