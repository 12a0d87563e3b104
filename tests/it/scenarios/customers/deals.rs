//! Commands on deals, pipelines and stages.

use crate::scenarios::Scenario;

pub(super) fn scenarios() -> Vec<Scenario> {
    Vec::new()
}
