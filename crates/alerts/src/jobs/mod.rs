//! Work beside the requests.

mod erase;
mod escalate;
mod recompute_all;
mod recompute_subjects;
mod sweep;

pub(crate) use erase::EraseResolved;
pub(crate) use escalate::EscalateAlerts;
pub(crate) use recompute_all::{RecomputeAll, recompute_next};
pub(crate) use recompute_subjects::RecomputeSubjects;
pub(crate) use sweep::SweepAlerts;

use backoffice_core::registry::Registry;
use time::Duration;

/// The schedule whose interval is the setting `alerts.sweep`.
pub(crate) const SWEEP_SCHEDULE: &str = "alerts.sweep";

/// Registers the jobs and their schedules.
pub(crate) fn register(registry: &mut Registry) {
    registry
        .job::<RecomputeSubjects>()
        .job::<RecomputeAll>()
        .job::<SweepAlerts>()
        .job::<EraseResolved>()
        .job::<EscalateAlerts>()
        .schedule::<SweepAlerts>(SWEEP_SCHEDULE, Duration::minutes(1))
        .schedule::<EscalateAlerts>("alerts.escalate", Duration::minutes(1))
        .schedule::<EraseResolved>("alerts.erase_resolved", Duration::hours(1))
        .schedule::<RecomputeAll>("alerts.recompute_all", Duration::days(1));
}
