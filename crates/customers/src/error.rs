//! What can go wrong that a client should know.

use backoffice_core::command::Entity;
use backoffice_core::{Detail, Rejection};
use serde_json::json;
use uuid::Uuid;

use crate::values::Given;

/// A refusal of the customers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// References to what does not exist for the caller: the members that hold them.
    #[error("Invalid input")]
    UnknownReferences(Vec<&'static str>),
    /// The owner's organizations do not hold the record's.
    #[error("Invalid input")]
    OwnerOutOfScope,
    /// The stage is one of another pipeline than the deal's.
    #[error("Invalid input")]
    StageInOtherPipeline,
    /// A member that breaks a rule of the domain.
    #[error("Invalid input")]
    Invalid {
        /// The member.
        path: &'static str,
        /// What is expected.
        rule: &'static str,
    },
    /// A write into an organization that the caller does not reach.
    #[error("Organization out of scope")]
    OrganizationOutOfScope,
    /// Neither the body nor the selection nor the caller says where the record belongs.
    #[error("Organization required")]
    OrganizationRequired,
    /// The name or label is another one's.
    #[error("Name already in use")]
    NameInUse,
    /// Deals are in it.
    #[error("In use")]
    InUse,
}

impl Error {
    /// Refuses another organization than the one that the record has: it does not change.
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

/// What undo and redo say when present data stands against the restored state.
pub(crate) fn undo_conflict(fields: &[&str]) -> backoffice_core::Error {
    Rejection::bad_request("The record has changed since this action")
        .code("undo_conflict")
        .with("fields", json!(fields))
        .into()
}

/// 404 of a kind.
pub(crate) fn not_found<E: Entity>() -> backoffice_core::Error {
    Rejection::not_found(E::NOT_FOUND).into()
}
