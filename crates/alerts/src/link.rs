//! Links from alerts to the board of assignments.

use backoffice_calendar::Zone;
use backoffice_core::{Platform, Timestamp};
use uuid::Uuid;

/// Returns the path of the board with the subject, on the local day of the first assignment.
pub(crate) fn link_href(
    platform: &Platform,
    zone: &Zone,
    (subject_type, subject): (&str, Uuid),
    first_start: Option<Timestamp>,
) -> String {
    let console = platform.app().console_path.trim_end_matches('/');
    let board = format!("{console}/dispatch/board?subject={subject_type}:{subject}");
    match first_start {
        Some(start) => format!("{board}&from={}", zone.local_date(start)),
        None => board,
    }
}
