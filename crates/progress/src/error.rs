//! What a client of this module can act on.

use backoffice_core::{Detail, Rejection};
use serde_json::json;

/// A refusal of this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No such job, or not one that the caller sees.
    #[error("Not found")]
    NotFound,
    /// Somebody else's job, and the caller may not manage those.
    #[error("Only its owner can do this")]
    NotOwner,
    /// It has ended.
    #[error("The job has already finished")]
    AlreadyFinished,
    /// It can't be stopped.
    #[error("The job cannot be cancelled")]
    NotCancellable,
    /// It is still under way.
    #[error("The job has not finished yet")]
    NotFinished,
    /// No item failed or was left.
    #[error("The job has nothing to retry")]
    NothingToRetry,
    /// The tenant has as many unfinished bulk jobs as it may.
    #[error("Too many unfinished bulk jobs")]
    TooManyJobs,
    /// More resources match than one job takes.
    #[error("Too many items match; at most {most} can be processed at once")]
    TooManyItems {
        /// How many match.
        matched: i64,
        /// Items of a job at most.
        most: usize,
    },
    /// The number of ids is out of bounds.
    #[error("Invalid input")]
    IdCount {
        /// Ids of a request at most.
        most: usize,
    },
}

impl Error {
    fn rejection(&self) -> Rejection {
        let text = self.to_string();
        match self {
            Self::NotFound => Rejection::not_found(text),
            Self::NotOwner => Rejection::forbidden(text),
            Self::AlreadyFinished => Rejection::conflict(text).code("already_finished"),
            Self::NotCancellable => Rejection::conflict(text).code("not_cancellable"),
            Self::NotFinished => Rejection::conflict(text).code("not_finished"),
            Self::NothingToRetry => Rejection::conflict(text).code("nothing_to_retry"),
            Self::TooManyJobs => Rejection::conflict(text).code("too_many_jobs"),
            Self::TooManyItems { matched, .. } => Rejection::bad_request(text)
                .code("too_many_items")
                .with("matched", json!(matched)),
            Self::IdCount { most } => Rejection::invalid(vec![Detail::new(
                "ids",
                format!("must hold between 1 and {most} ids"),
                "out_of_range",
            )]),
        }
    }
}

impl From<Error> for backoffice_core::Error {
    fn from(error: Error) -> Self {
        error.rejection().into()
    }
}
