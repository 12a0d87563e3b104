//! What causes a command, if no principal does.

use uuid::Uuid;

/// The rule whose effect a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    /// The id of the rule.
    pub rule: Uuid,
    /// The number of rules in the chain of causes, from 1: 2 for the effect of a rule that the effect of another rule has started.
    pub depth: u32,
}
