//! The state of the jobs of a process.

use super::throttle::Throttle;
use super::{JobKinds, JobsConfig, WorkNotifier};
use crate::platform::Platform;

/// Kinds, configuration and load of the jobs of a process.
#[derive(Debug)]
pub(crate) struct JobServices {
    config: JobsConfig,
    kinds: JobKinds,
    notifier: WorkNotifier,
    throttle: Throttle,
}

impl JobServices {
    pub(crate) fn new(config: JobsConfig, kinds: JobKinds) -> Self {
        Self {
            config,
            kinds,
            notifier: WorkNotifier::default(),
            throttle: Throttle::new(),
        }
    }
}

impl Platform {
    /// Returns the section `jobs`.
    #[must_use]
    pub fn jobs(&self) -> &JobsConfig {
        &self.services::<JobServices>().config
    }

    pub(super) fn job_kinds(&self) -> &JobKinds {
        &self.services::<JobServices>().kinds
    }

    pub(super) fn notifier(&self) -> &WorkNotifier {
        &self.services::<JobServices>().notifier
    }

    pub(crate) fn throttle(&self) -> &Throttle {
        &self.services::<JobServices>().throttle
    }
}
