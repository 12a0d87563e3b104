//! The errors that a client can act on.

use backoffice_core::Rejection;

use crate::model::DEAL;

/// A rejection by this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A field that refers to a record that does not exist or is not visible to the caller.
    #[error("Invalid input")]
    UnknownReference(&'static str),
    /// The owner's organizations do not contain that of the record.
    #[error("Invalid input")]
    OwnerOutOfScope,
    /// The stage belongs to another pipeline than the deal.
    #[error("Invalid input")]
    StageInOtherPipeline,
    /// Another record has this name or label.
    #[error("Name already in use")]
    NameInUse,
}

impl Error {
    fn rejection(&self) -> Rejection {
        match self {
            Self::UnknownReference(path) => Rejection::unknown_reference(*path).code("unknown_reference"),
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
            Self::NameInUse => Rejection::conflict(self.to_string()).code("duplicate_name"),
        }
    }
}

fn one(path: &str, message: &str, code: &'static str) -> Rejection {
    Rejection::invalid_field(path, message, code).code(code)
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}

/// Maps the foreign keys of deals, which keep a pipeline or stage from being removed, to the conflict that undo and redo report.
pub(crate) fn has_deals(error: backoffice_core::Error) -> backoffice_core::Error {
    match error.violated_constraint() {
        Some(
            "customers_deals_tenant_id_pipeline_id_fkey"
            | "customers_deals_tenant_id_pipeline_id_pipeline_stage_id_fkey",
        ) => Rejection::undo_conflict(&[DEAL]).into(),
        _ => error,
    }
}

/// Converts the conflict of [`has_deals`] to the rejection of a command that deletes.
pub(crate) fn in_use(error: backoffice_core::Error) -> backoffice_core::Error {
    match error {
        backoffice_core::Error::Rejected(conflict) if *conflict == Rejection::undo_conflict(&[DEAL]) => {
            Rejection::in_use().into()
        }
        other => other,
    }
}
