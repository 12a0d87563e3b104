//! Commands on companies and people.

use crate::scenarios::Scenario;

pub(super) fn scenarios() -> Vec<Scenario> {
    Vec::new()
}
