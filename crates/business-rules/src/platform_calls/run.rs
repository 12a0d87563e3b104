//! Requests of a rule that runs outside of a command: sent as the run goes.

use std::time::Duration;

use backoffice_core::RequestContext;
use backoffice_core::identity::ActorKind;
use serde_json::json;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::request::{CallOutcome, CallingRule, Idempotency, send};
use crate::engine::RuleRun;

/// Sends the planned requests of a run one after the other, at most for this time together. A request that is not done by then is rolled back. A
/// user or key that executes the rule by request is the actor, and its features limit the requests.
pub(crate) async fn call(ctx: &RequestContext, run: &mut RuleRun, tenant: Uuid, occasion: Uuid, longest: Duration) {
    let planned = std::mem::take(&mut run.calls);
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
    let until = Instant::now() + longest;
    for one in &planned {
        let left = until.saturating_duration_since(Instant::now());
        // A rule that has reached its limit has no further effects.
        let is_over = left.is_zero() || run.error.is_some();
        let sent = match is_over {
            true => None,
            false => timeout(left, send(ctx.call(), &rule, one, once, actor)).await.ok(),
        };
        let (status, error) = match sent {
            None => {
                run.error = Some("timeout".to_owned());
                (None, Some("timeout".to_owned()))
            }
            Some(Ok(outcome)) => (CallOutcome::status(outcome), outcome.failure()),
            Some(Err(error)) => {
                tracing::warn!(%error, rule.id = %rule.id, "could not send the request of a rule");
                (None, Some("unavailable".to_owned()))
            }
        };
        if let Some(result) = run.results.get_mut(one.action) {
            result.error = error;
            if let Some(status) = status {
                result.fields.insert("status".to_owned(), json!(status));
            }
        }
    }
}
