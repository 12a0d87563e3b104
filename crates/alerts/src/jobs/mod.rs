//! Work beside the requests.

mod erase;
mod escalate;
mod notify_holders;
mod recompute_all;
mod recompute_listed;
mod recompute_subjects;
mod sweep;

pub(crate) use erase::EraseResolved;
pub(crate) use escalate::EscalateAlerts;
pub(crate) use notify_holders::NotifyHolders;
pub(crate) use recompute_all::{RecomputeAll, recompute_next};
pub(crate) use recompute_listed::RecomputeListed;
pub(crate) use recompute_subjects::RecomputeSubjects;
pub(crate) use sweep::SweepAlerts;

use backoffice_core::registry::Registry;
use time::Duration;

/// The schedule whose interval is the setting `alerts.sweep`.
pub(crate) const SWEEP_SCHEDULE: &str = "alerts.sweep";

/// The priority of the jobs that notify the first users of a critical alert. That of other jobs is 100, and lower ones run first: otherwise the alert
/// waits until the bulk jobs of the tenant have ended, and may be escalated before a user was notified. Other alerts are not escalated.
const URGENT_NOTIFY_PRIORITY: i16 = 90;

/// Registers the jobs and their schedules.
pub(crate) fn register(registry: &mut Registry) {
    registry
        .job::<RecomputeSubjects>()
        .job::<RecomputeListed>()
        .job::<NotifyHolders>()
        .job::<RecomputeAll>()
        .job::<SweepAlerts>()
        .job::<EraseResolved>()
        .job::<EscalateAlerts>()
        .schedule::<SweepAlerts>(SWEEP_SCHEDULE, Duration::minutes(1))
        .schedule::<EscalateAlerts>("alerts.escalate", Duration::minutes(1))
        .schedule::<EraseResolved>("alerts.erase_resolved", Duration::hours(1))
        .schedule::<RecomputeAll>("alerts.recompute_all", Duration::days(1));
}
