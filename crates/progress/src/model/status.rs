//! The status of a job.

/// The status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Accepted; no worker has started it yet.
    Pending,
    /// Started by a worker at least once, also while it waits for another attempt.
    Running,
    /// Every item succeeded or needed no change.
    Completed,
    /// Some items failed, but not all.
    CompletedWithErrors,
    /// Every item failed, or the job ended with an error.
    Failed,
    /// Cancelled on request.
    Cancelled,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 6] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::CompletedWithErrors,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the value in the database and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::CompletedWithErrors => "completed_with_errors",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Parses the value in the database and on the wire.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns whether the status is final.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// Returns the final status of a job that has processed all its items.
    #[must_use]
    pub fn of_counts(total: i32, failed: i32) -> Self {
        match failed {
            0 => Self::Completed,
            failed if failed == total => Self::Failed,
            _ => Self::CompletedWithErrors,
        }
    }

    /// Returns the past verb of its event.
    #[must_use]
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Pending => "created",
            Self::Running => "started",
            Self::Completed | Self::CompletedWithErrors => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_ends_by_what_became_of_its_items() {
        assert_eq!(Status::of_counts(0, 0), Status::Completed);
        assert_eq!(Status::of_counts(3, 0), Status::Completed);
        assert_eq!(Status::of_counts(3, 1), Status::CompletedWithErrors);
        assert_eq!(Status::of_counts(3, 3), Status::Failed);
    }

    #[test]
    fn every_word_is_read_back() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
    }
}
