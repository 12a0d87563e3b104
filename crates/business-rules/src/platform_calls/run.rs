//! Requests of a rule that runs outside of a command: sent as the run goes.

use std::time::Duration;

use backoffice_core::identity::ActorKind;
use backoffice_core::{Error, RequestContext};
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use super::request::{CallOutcome, CallingRule, Idempotency, send};
use crate::engine::RuleRun;

/// How the action of a rule has ended, as far as it calls the platform.
pub(crate) enum CallEnd {
    /// It had no request, or its result says how the request has ended.
    Done,
    /// The time was not enough; the request is rolled back.
    TimedOut,
    /// The request could not be sent. The result says so too.
    Unavailable(Error),
}

/// Sends the request of an action, if it has planned one, at most for this time. A user or key that executes the rule by request is the actor, and its
/// features limit the request.
pub(crate) async fn call(
    ctx: &RequestContext,
    run: &mut RuleRun,
    action: usize,
    tenant: Uuid,
    occasion: Uuid,
    longest: Duration,
) -> CallEnd {
    let Some(planned) = run.calls.iter().position(|planned| planned.action == action) else {
        return CallEnd::Done;
    };
    let planned = run.calls.remove(planned);
    let rule = CallingRule {
        tenant,
        organization: run.rule.organization,
        id: run.rule.id,
        key: run.rule.key.clone(),
        depth: ctx.cause().map_or(1, |cause| cause.depth + 1),
    };
    let once = Idempotency {
        occasion,
        condition: run.condition.unwrap_or_default(),
    };
    let actor = Some(ctx.identity()).filter(|identity| identity.kind != ActorKind::System);
    let (outcome, end) = match timeout(longest, send(ctx.call(), &rule, &planned, once, actor)).await {
        Err(_) => return CallEnd::TimedOut,
        Ok(Ok(CallOutcome::Unavailable)) => (CallOutcome::Unavailable, CallEnd::Unavailable(CallOutcome::busy())),
        Ok(Ok(outcome)) => (outcome, CallEnd::Done),
        Ok(Err(error)) => {
            tracing::warn!(%error, rule.id = %rule.id, "could not send the request of a rule");
            (CallOutcome::Unavailable, CallEnd::Unavailable(error))
        }
    };
    if let Some(result) = run.results.get_mut(action) {
        result.error = outcome.failure();
        if let Some(status) = outcome.status() {
            result.fields.insert("status".to_owned(), json!(status));
        }
    }
    end
}
