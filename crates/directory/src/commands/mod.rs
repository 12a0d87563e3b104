//! The commands of the directory.

mod create_tenant;
mod delete_tenant;
mod organization;
mod update_tenant;

pub use create_tenant::{CreateTenant, NewTenant, TenantCreated};
pub use delete_tenant::DeleteTenant;
pub(crate) use organization::OrganizationPatch;
pub use organization::{CreateOrganization, DeleteOrganization, OrganizationInput, UpdateOrganization};
pub use update_tenant::{TenantPatch, UpdateTenant};
