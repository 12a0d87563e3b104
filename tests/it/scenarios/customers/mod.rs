//! Scenarios of the commands of `customers`.

mod deals;
mod parties;

use super::Scenario;

pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = deals::scenarios();
    all.extend(parties::scenarios());
    all
}
