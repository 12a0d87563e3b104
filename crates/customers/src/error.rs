//! The errors that a client can act on.

use std::borrow::Cow;

use backoffice_core::{Error as CoreError, Rejection, Result, Violations};

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
                "must be a user whose organizations contain that of the record",
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

/// Collects the violated rules of a command, so that one response reports all of them. Its code is that of the first rule with a code.
#[derive(Debug, Default)]
pub(crate) struct Rejections {
    violations: Violations,
    code: Option<Cow<'static, str>>,
}

impl Rejections {
    /// Returns the value; on a violated rule, records it and returns the default.
    ///
    /// # Errors
    /// Any other error than a violated rule.
    pub(crate) fn keep<T: Default>(&mut self, outcome: Result<T>) -> Result<T> {
        match outcome {
            Err(CoreError::Rejected(mut rejection)) if !rejection.details.is_empty() => {
                let code = rejection.code.take();
                self.code = self.code.take().or(code);
                self.violations.note(CoreError::Rejected(rejection));
                Ok(T::default())
            }
            outcome => outcome,
        }
    }

    /// Returns the 400 that names all recorded rules, if there are any.
    ///
    /// # Errors
    /// The 400.
    pub(crate) fn check(self) -> Result<()> {
        let code = self.code;
        self.violations.check().map_err(|error| match error {
            CoreError::Rejected(rejection) => Rejection { code, ..*rejection }.into(),
            other => other,
        })
    }
}

fn one(path: &str, message: &str, code: &'static str) -> Rejection {
    Rejection::invalid_field(path, message, code).code(code)
}

impl From<Error> for CoreError {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}

/// Maps the foreign keys of deals, which keep a pipeline or stage from being removed, to the conflict that undo and redo report.
pub(crate) fn has_deals(error: CoreError) -> CoreError {
    match error.violated_constraint() {
        Some(
            "customers_deals_tenant_id_pipeline_id_fkey"
            | "customers_deals_tenant_id_pipeline_id_pipeline_stage_id_fkey",
        ) => Rejection::undo_conflict(&[DEAL]).into(),
        _ => error,
    }
}

/// Converts the conflict of [`has_deals`] to the rejection of a command that deletes.
pub(crate) fn in_use(error: CoreError) -> CoreError {
    match error {
        CoreError::Rejected(conflict) if *conflict == Rejection::undo_conflict(&[DEAL]) => Rejection::in_use().into(),
        other => other,
    }
}
