//! The errors that a client can act on.

use backoffice_core::command::Entity;
use backoffice_core::{Detail, Rejection};
use serde_json::json;
use uuid::Uuid;

use crate::values::Given;

/// A rejection by this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The fields with references to records that are not visible to the caller.
    #[error("Invalid input")]
    UnknownReferences(Vec<&'static str>),
    /// The owner's organizations do not contain that of the record.
    #[error("Invalid input")]
    OwnerOutOfScope,
    /// The stage belongs to another pipeline than the deal.
    #[error("Invalid input")]
    StageInOtherPipeline,
    /// A field that breaks a rule of the domain.
    #[error("Invalid input")]
    Invalid {
        /// The field.
        path: &'static str,
        /// The expected value.
        rule: &'static str,
    },
    /// A write into an organization outside of the caller's scope.
    #[error("Organization out of scope")]
    OrganizationOutOfScope,
    /// Neither the body, nor the selection, nor the caller's account names an organization for the record.
    #[error("Organization required")]
    OrganizationRequired,
    /// Another record has this name or label.
    #[error("Name already in use")]
    NameInUse,
    /// The record still contains deals.
    #[error("In use")]
    InUse,
}

impl Error {
    /// Rejects an organization other than that of the record, which cannot be changed.
    pub(crate) fn keeps_organization(given: Given<Uuid>, present: Uuid) -> Result<(), Self> {
        match given.flatten() {
            Some(other) if other != present => Err(Self::Invalid {
                path: "organizationId",
                rule: "does not change",
            }),
            _ => Ok(()),
        }
    }

    fn rejection(&self) -> Rejection {
        let text = self.to_string();
        match self {
            Self::UnknownReferences(paths) => {
                let unknown = |path: &&'static str| Detail::new(*path, "does not exist", "unknown_reference");
                Rejection::invalid(paths.iter().map(unknown).collect()).code("unknown_reference")
            }
            Self::OwnerOutOfScope => one(
                "ownerUserId",
                "the owner does not reach the record's organization",
                "owner_out_of_scope",
            ),
            Self::StageInOtherPipeline => one(
                "pipelineStageId",
                "must be a stage of the deal's pipeline",
                "stage_in_other_pipeline",
            ),
            Self::Invalid { path, rule } => Rejection::invalid(vec![Detail::new(*path, *rule, "invalid_value")]),
            Self::OrganizationOutOfScope => Rejection::forbidden(text),
            Self::OrganizationRequired => Rejection::bad_request(text).code("organization_required"),
            Self::NameInUse => Rejection::conflict(text).code("duplicate_name"),
            Self::InUse => Rejection::conflict(text).code("in_use"),
        }
    }
}

fn one(path: &str, message: &str, code: &'static str) -> Rejection {
    Rejection::invalid(vec![Detail::new(path, message, code)]).code(code)
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}

/// Returns the error of an undo or redo that conflicts with present data.
pub(crate) fn undo_conflict(fields: &[&str]) -> backoffice_core::Error {
    Rejection::bad_request("The record has changed since this action")
        .code("undo_conflict")
        .with("fields", json!(fields))
        .into()
}

/// Returns the 404 of an entity kind.
pub(crate) fn not_found<E: Entity>() -> backoffice_core::Error {
    Rejection::not_found(E::NOT_FOUND).into()
}
