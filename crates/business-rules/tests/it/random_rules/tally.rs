//! Counts of what happened in all cases: effects that never happen would prove nothing.

use std::cell::Cell;

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) saved: Cell<u32>,
    pub(super) rejected_rules: Cell<u32>,
    pub(super) changes: Cell<u32>,
    pub(super) rejected_changes: Cell<u32>,
    /// Changes that rules disallowed.
    pub(super) blocked: Cell<u32>,
    /// Executions by request.
    pub(super) executed: Cell<u32>,
    /// Log entries of rules that set fields, and of rules that call the platform.
    pub(super) set: Cell<u32>,
    pub(super) called: Cell<u32>,
    /// Log entries of rules that the limit of a chain allows last.
    pub(super) deepest: Cell<u32>,
    /// Actions that failed for lack of rights.
    pub(super) forbidden: Cell<u32>,
    pub(super) notified: Cell<u32>,
    pub(super) emitted: Cell<u32>,
    pub(super) delivered: Cell<u32>,
    /// Rules that were started too many times.
    pub(super) stopped: Cell<u32>,
    /// Effects that their editors repeated without a rule.
    pub(super) repeated: Cell<u32>,
}

pub(super) fn count(counter: &Cell<u32>, number: usize) {
    counter.set(counter.get() + u32::try_from(number).expect("a small number"));
}

/// Number of cases in which everything happens.
const MANY: u32 = 50;

impl Tally {
    /// Checks that the cases show something.
    pub(super) fn check(&self, cases: u32) {
        for (counter, number) in [
            (&self.saved, 3 * cases),
            (&self.rejected_rules, 2 * cases),
            (&self.changes, 5 * cases),
            (&self.set, cases),
            (&self.called, cases / 3),
            (&self.repeated, cases / 3),
        ] {
            assert!(counter.get() >= number, "{cases} cases: {self:?}");
        }
        for counter in [
            &self.rejected_changes,
            &self.blocked,
            &self.executed,
            &self.deepest,
            &self.forbidden,
            &self.notified,
            &self.emitted,
            &self.delivered,
            &self.stopped,
        ] {
            assert!(cases < MANY || counter.get() > 0, "{cases} cases: {self:?}");
        }
    }
}
