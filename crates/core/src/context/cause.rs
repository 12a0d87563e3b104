//! The cause of a command that no principal has requested.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::identity::Principal;

/// The rule whose effect a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The id of the rule.
    pub rule: Uuid,
    /// The number of rules in the chain of causes, from 1: 2 for the effect of a rule that the effect of another rule has started.
    pub depth: u32,
}

/// What a context knows of the rule whose effect it is: jobs that it requests stay effects of that rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) cause: Cause,
    /// The limits of an internal request; `None` if the principal of the context has them already.
    pub(crate) limits: Option<EffectLimits>,
}

/// The principals behind an internal request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EffectLimits {
    /// The principal beyond whose rights the request must not go.
    pub(crate) limited_by: Principal,
    /// The tenant of the actor; `None` if the platform acts.
    pub(crate) actor_tenant: Option<Uuid>,
}
