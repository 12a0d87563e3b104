//! Runs rules outside of a command: for a request or an event.

use std::sync::Arc;

use backoffice_core::{RequestContext, Result};
use tokio::time::Instant;
use uuid::Uuid;

use super::evaluate::evaluate;
use super::{RunError, RunOutcome, RunSubject, write};
use crate::compiled::CompiledRule;
use crate::condition::Facts;
use crate::config::RulesConfig;
use crate::platform_calls;

/// Runs these rules one after the other. Fields are set and the platform is called as the run goes, as the principal of the context; everything else
/// is planned. `occasion` identifies what has started the run.
///
/// # Errors
/// When the module was not started.
pub(crate) async fn run(
    ctx: &RequestContext,
    rules: &[Arc<CompiledRule>],
    subject: RunSubject<'_>,
    facts: &Facts<'_>,
    occasion: Uuid,
    is_dry: bool,
) -> Result<RunOutcome> {
    let config = ctx.call().provided::<RulesConfig>()?;
    if rules.len() > config.max_rules {
        return Ok(RunOutcome::too_many());
    }
    let started = Instant::now();
    let mut outcome = RunOutcome::default();
    for rule in rules {
        let left = config.run_timeout.saturating_sub(started.elapsed());
        if left.is_zero() {
            outcome.is_incomplete |= rule.validates();
            outcome.errors.push(RunError {
                rule: Some(rule.key.clone()),
                code: "not_run",
            });
            continue;
        }
        let begun = Instant::now();
        let mut one = evaluate(rule, facts, ctx.new_id(), is_dry);
        if is_dry {
            one.write = None;
            one.calls.clear();
        } else {
            let longest = left.min(config.rule_timeout);
            write::write(ctx, &mut one, subject.entity_type, subject.entity_id, longest).await;
            let left = longest.saturating_sub(begun.elapsed());
            platform_calls::call(ctx, &mut one, subject.tenant, occasion, left).await;
        }
        one.elapsed = begun.elapsed();
        outcome.runs.push(one);
    }
    outcome.elapsed = started.elapsed();
    Ok(outcome)
}
