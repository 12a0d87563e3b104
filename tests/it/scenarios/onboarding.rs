//! Scenarios of the commands of `onboarding`: there are none, because none of its commands can be undone.

use super::Scenario;

pub(crate) const fn scenarios() -> Vec<Scenario> {
    Vec::new()
}
