//! The errors that a client can act on.

use backoffice_core::{Detail, Rejection};
use serde_json::json;

/// A rejection by this module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The job does not exist or is not visible to the caller.
    #[error("Not found")]
    NotFound,
    /// The job belongs to another requester, and no feature allows this for the jobs of others.
    #[error("Only its owner can do this")]
    NotOwner,
    /// The job has ended.
    #[error("The job has already finished")]
    AlreadyFinished,
    /// The job can't be cancelled.
    #[error("The job cannot be cancelled")]
    NotCancellable,
    /// The job has not ended yet.
    #[error("The job has not finished yet")]
    NotFinished,
    /// The job has no failed or unprocessed items.
    #[error("The job has nothing to retry")]
    NothingToRetry,
    /// The tenant has reached the maximum number of unfinished bulk jobs.
    #[error("Too many unfinished bulk jobs")]
    TooManyJobs,
    /// More resources match than one job may contain.
    #[error("Too many items match; at most {most} can be processed at once")]
    TooManyItems {
        /// Number of matching resources.
        matched: i64,
        /// Maximum number of items of a job.
        most: usize,
    },
    /// The number of ids is out of range.
    #[error("Invalid input")]
    IdCount {
        /// Maximum number of ids in a request.
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
