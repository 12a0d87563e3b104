//! The state of the events of a process.

use super::notifier::CommitNotifier;
use super::subscriber::Subscribers;
use crate::platform::Platform;

/// Subscribers and notifier of the events of a process.
#[derive(Debug)]
pub(crate) struct EventServices {
    subscribers: Subscribers,
    notifier: CommitNotifier,
}

impl EventServices {
    pub(crate) fn new(subscribers: Subscribers) -> Self {
        Self {
            subscribers,
            notifier: CommitNotifier::default(),
        }
    }
}

impl Platform {
    /// Returns the notifier of commits that may have emitted events.
    #[must_use]
    pub fn commit_notifier(&self) -> &CommitNotifier {
        &self.services::<EventServices>().notifier
    }

    pub(crate) fn subscribers(&self) -> &Subscribers {
        &self.services::<EventServices>().subscribers
    }
}
