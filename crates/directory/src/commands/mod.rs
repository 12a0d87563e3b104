//! The commands of the directory.

mod create_organization;
mod create_tenant;
mod delete_organization;
mod delete_tenant;
mod update_organization;
mod update_tenant;

pub use create_organization::{CreateOrganization, NewOrganization};
pub use create_tenant::{CreateTenant, NewTenant, TenantCreated};
pub use delete_organization::DeleteOrganization;
pub use delete_tenant::DeleteTenant;
pub use update_organization::{OrganizationPatch, UpdateOrganization};
pub use update_tenant::{TenantPatch, UpdateTenant};

use backoffice_core::Result;
use backoffice_core::command::Tx;
use uuid::Uuid;

use crate::{Error, query};

/// Rejects a parent that is not visible or not of the organization's tenant. Only callers of the whole tenant may choose the top level.
async fn check_parent(tx: &mut Tx<'_>, parent: Option<Uuid>) -> Result<()> {
    let scope = tx.scope();
    let Some(parent) = parent else {
        return if scope.allowed.is_none() {
            Ok(())
        } else {
            Err(Error::OutOfScope.into())
        };
    };
    match query::find_organization(tx.conn(), scope, parent).await? {
        Some(found) if found.tenant_id == tx.tenant() => Ok(()),
        _ => Err(Error::ParentNotFound.into()),
    }
}

/// Maps a violation of the unique slug to a conflict.
fn slug_conflict(error: diesel::result::Error) -> backoffice_core::Error {
    let error = backoffice_core::Error::from(error);
    if error.violated_constraint() == Some("directory_organizations_tenant_id_slug_key") {
        return Error::SlugInUse.into();
    }
    error
}
