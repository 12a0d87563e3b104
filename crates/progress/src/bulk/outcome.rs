//! The outcome of an item, as stored and shown.

use backoffice_core::Error;
use backoffice_core::command::ItemOutcome;
use uuid::Uuid;

use crate::model::ItemState;

/// Maximum length of an error text.
const LONGEST: usize = 500;
/// Codes of violated rules that are reported for the item; all others become `validation_failed`.
const RULES: [&str; 3] = ["unknown_reference", "owner_out_of_scope", "stage_in_other_pipeline"];

/// A failed item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) status: i16,
    pub(super) code: String,
    pub(super) message: String,
}

/// The outcome of a processed item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Succeeded(Uuid),
    Skipped,
    Failed(Failure),
}

impl Outcome {
    pub(super) fn state(&self) -> ItemState {
        match self {
            Self::Succeeded(_) => ItemState::Succeeded,
            Self::Skipped => ItemState::Skipped,
            Self::Failed(_) => ItemState::Failed,
        }
    }

    pub(super) fn log_id(&self) -> Option<Uuid> {
        match self {
            Self::Succeeded(id) => Some(*id),
            Self::Skipped | Self::Failed(_) => None,
        }
    }

    pub(super) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Succeeded(_) | Self::Skipped => None,
        }
    }
}

impl From<ItemOutcome> for Outcome {
    fn from(outcome: ItemOutcome) -> Self {
        match outcome {
            ItemOutcome::Changed(log_id) => Self::Succeeded(log_id),
            ItemOutcome::Unchanged => Self::Skipped,
            ItemOutcome::Failed(error) => Self::Failed(Failure::of(&error)),
        }
    }
}

impl Failure {
    /// The failure of an item that was not run because its requester lost the required features.
    pub(super) fn forbidden() -> Self {
        Self {
            status: 403,
            code: "forbidden".to_owned(),
            message: "The right to do this was withdrawn".to_owned(),
        }
    }

    /// The failure of an item that crashed its worker.
    pub(super) fn internal() -> Self {
        Self {
            status: 500,
            code: "internal_error".to_owned(),
            message: "Internal server error".to_owned(),
        }
    }

    fn of(error: &Error) -> Self {
        if error.violates_key() {
            tracing::debug!(db.constraint = error.violated_constraint(), "bulk item violated a key");
            return Self {
                status: 409,
                code: "conflict".to_owned(),
                message: "In conflict with other data".to_owned(),
            };
        }
        let rejection = error.to_rejection();
        let status = rejection.status.as_u16();
        let rule = rejection.details.first().map(|detail| detail.code.as_ref());
        let code = match (rejection.code.as_deref(), status) {
            (Some(code), _) => code,
            (None, _) if rejection.by_interceptor => "blocked",
            (None, 500) => "internal_error",
            (None, 400) => rule.filter(|code| RULES.contains(code)).unwrap_or("validation_failed"),
            (None, 403) => "forbidden",
            (None, 404) => "not_found",
            (None, 409) => "conflict",
            (None, _) => "blocked",
        };
        if status >= 500 && !rejection.by_interceptor {
            tracing::error!(%error, "bulk item failed");
        }
        let text = rejection
            .details
            .first()
            .map_or(&*rejection.message, |detail| &detail.message);
        Self {
            status: i16::try_from(status).unwrap_or(500),
            code: code.to_owned(),
            message: text.chars().take(LONGEST).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use backoffice_core::{Detail, Rejection};

    use super::*;

    fn failure(rejection: Rejection) -> (i16, String) {
        let failure = Failure::of(&rejection.into());
        (failure.status, failure.code)
    }

    #[test]
    fn each_rejection_has_the_code_of_its_kind() {
        let rule = |code| Rejection::invalid(vec![Detail::new("ownerUserId", "is unknown", code)]);

        assert_eq!(
            failure(rule("unknown_reference")),
            (400, "unknown_reference".to_owned())
        );
        assert_eq!(failure(rule("too_long")), (400, "validation_failed".to_owned()));
        assert_eq!(failure(Rejection::not_found("Gone")), (404, "not_found".to_owned()));
        assert_eq!(
            failure(Rejection::conflict("In use").code("in_use")),
            (409, "in_use".to_owned())
        );
    }

    #[test]
    fn an_interceptor_names_its_code_or_none() {
        let rejection = |code: Option<&'static str>| Rejection {
            by_interceptor: true,
            code: code.map(Into::into),
            ..Rejection::conflict("Not now")
        };

        assert_eq!(failure(rejection(Some("paused"))), (409, "paused".to_owned()));
        assert_eq!(failure(rejection(None)), (409, "blocked".to_owned()));
    }

    #[test]
    fn an_internal_error_shows_nothing_of_its_cause() {
        let failure = Failure::of(&Error::internal("relation x does not exist"));

        assert_eq!(failure, Failure::internal());
    }

    #[test]
    fn a_text_is_cut_at_500_characters() {
        let failure = Failure::of(&Rejection::bad_request("ä".repeat(600)).into());

        assert_eq!(failure.message.chars().count(), 500);
    }
}
