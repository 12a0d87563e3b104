//! Tenants and organizations as other modules and the command bus see them.

mod organization;
mod tenant;

pub use organization::{Organization, OrganizationRow};
pub use tenant::{Tenant, TenantRow};

/// Kind of organizations.
pub const ORGANIZATION: &str = "directory.organization";
/// Kind of tenants.
pub const TENANT: &str = "directory.tenant";
