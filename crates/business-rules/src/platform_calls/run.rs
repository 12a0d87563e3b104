//! Requests of a rule that runs outside of a command: sent as the run goes.

use std::time::Duration;

use backoffice_core::RequestContext;
use backoffice_core::identity::ActorKind;
use serde_json::json;
use tokio::time::timeout;
use uuid::Uuid;

use super::request::{CallOutcome, CallingRule, Idempotency, send};
use crate::engine::RuleRun;

/// Sends the request of an action, if it has planned one, at most for this time. Returns false if that was not enough; the request is then rolled
/// back. A user or key that executes the rule by request is the actor, and its features limit the request.
pub(crate) async fn call(
    ctx: &RequestContext,
    run: &mut RuleRun,
    action: usize,
    tenant: Uuid,
    occasion: Uuid,
    longest: Duration,
) -> bool {
    let Some(planned) = run.calls.iter().position(|planned| planned.action == action) else {
        return true;
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
    let (status, error) = match timeout(longest, send(ctx.call(), &rule, &planned, once, actor)).await {
        Err(_) => return false,
        Ok(Ok(outcome)) => (CallOutcome::status(outcome), outcome.failure()),
        Ok(Err(error)) => {
            tracing::warn!(%error, rule.id = %rule.id, "could not send the request of a rule");
            (None, Some("unavailable".to_owned()))
        }
    };
    if let Some(result) = run.results.get_mut(action) {
        result.error = error;
        if let Some(status) = status {
            result.fields.insert("status".to_owned(), json!(status));
        }
    }
    true
}
