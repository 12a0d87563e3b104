//! Notifications of workers about their assignments.

mod reminders;
mod subscriber;
mod types;

use backoffice_core::registry::Registry;

pub(crate) use reminders::remind_other_user;

pub(crate) fn register(registry: &mut Registry) {
    registry
        .extend(types::ASSIGNED)
        .extend(types::CHANGED)
        .extend(types::CANCELLED)
        .extend(types::REMINDER)
        .subscribe(subscriber::NOTIFY_WORKERS)
        .job::<reminders::RemindWorkers>()
        .schedule::<reminders::RemindWorkers>(reminders::SCHEDULE, reminders::EVERY);
}
