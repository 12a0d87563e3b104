//! Errors that a client of this module can act on.

use backoffice_core::Rejection;
use backoffice_core::command::Entity;

use crate::model::Organization;

/// A rejection of the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The tenant does not exist or was deleted.
    TenantNotFound,
    /// Another live organization has the slug.
    SlugInUse,
    /// The parent does not exist, belongs to another tenant, or is not visible to the caller.
    ParentNotFound,
    /// An organization would become its own ancestor.
    Cycle,
    /// The tree would become deeper than allowed.
    TooDeep {
        /// The largest depth.
        max: u32,
    },
    /// The tenant has as many organizations as it may have.
    TooMany {
        /// The largest number.
        max: u32,
    },
    /// The organization has live children.
    InUse,
    /// A tenant keeps at least one organization.
    LastOrganization,
    /// The named tenant is not visible in the caller's scope.
    OtherTenant,
    /// Only super administrators create, deactivate and delete tenants.
    SuperAdministratorsOnly,
    /// Callers cannot deactivate or delete their own tenant.
    OwnTenant {
        /// Whether the command was a deletion.
        deleting: bool,
    },
}

/// Returns the rejection for a broken rule that has no message in the contract; its error code names the rule.
fn invalid(path: &str, message: impl Into<String>, code: &'static str) -> Rejection {
    Rejection::invalid_field(path, message, "invalid_value").code(code)
}

impl Error {
    fn rejection(self) -> Rejection {
        match self {
            Self::TenantNotFound => Rejection::bad_request("Tenant not found").code("tenant_not_found"),
            Self::SlugInUse => Rejection::conflict("Slug already in use").code("duplicate_slug"),
            Self::ParentNotFound => Rejection::bad_request("Parent organization not found").code("parent_not_found"),
            Self::Cycle => Rejection::bad_request("An organization cannot be below itself").code("organization_cycle"),
            Self::TooDeep { max } => invalid(
                "parentId",
                format!("organizations can be nested at most {max} levels deep"),
                "organization_depth",
            ),
            Self::TooMany { max } => invalid(
                "",
                format!("a tenant can have at most {max} organizations"),
                "organization_limit",
            ),
            Self::InUse => Rejection::organization_in_use(),
            Self::LastOrganization => invalid("id", "is the last organization of the tenant", "last_organization"),
            Self::OtherTenant => Rejection::forbidden("Not authorized to target this tenant."),
            Self::SuperAdministratorsOnly => Rejection::forbidden("Super administrators only"),
            Self::OwnTenant { deleting: true } => invalid("id", "must not be your own tenant", "own_tenant"),
            Self::OwnTenant { deleting: false } => {
                invalid("isActive", "must not be false for your own tenant", "own_tenant")
            }
        }
    }

    /// Returns the rejection of an undo or redo: names the field of the current data that conflicts with the restored state.
    pub(crate) fn while_restoring(self) -> backoffice_core::Error {
        let field = match self {
            Self::ParentNotFound | Self::Cycle | Self::TooDeep { .. } => "parentId",
            Self::InUse => Organization::KIND,
            Self::SlugInUse => "slug",
            _ => return self.into(),
        };
        Rejection::undo_conflict(&[field]).into()
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}
