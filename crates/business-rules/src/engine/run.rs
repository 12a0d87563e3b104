//! Runs rules outside of a command: for a request or an event.

use std::sync::Arc;
use std::time::Duration;

use backoffice_core::{RequestContext, Result};
use tokio::time::Instant;
use uuid::Uuid;

use super::evaluate::plan;
use super::{LONG_EVALUATION, NOT_RUN, RuleRun, RunError, RunOutcome, RunSubject, write};
use crate::compiled::CompiledRule;
use crate::condition::{EvaluationLimits, Facts, Patterns};
use crate::config::RulesConfig;
use crate::platform_calls;

/// Longest evaluation of a condition, which other requests of its thread wait for.
const LONGEST_EVALUATION: Duration = Duration::from_secs(1);

/// Runs these rules one after the other, each with its actions in their order. Fields are set and the platform is called as the run goes, as the
/// principal of the context; everything else is planned. `occasion` identifies what has started the run.
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
    let (config, patterns) = (
        ctx.call().provided::<RulesConfig>()?,
        ctx.call().provided::<Patterns>()?,
    );
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
                code: NOT_RUN,
            });
            continue;
        }
        let begun = Instant::now();
        let longest = left.min(config.rule_timeout);
        let limits = EvaluationLimits {
            patterns: &patterns,
            longest: longest.min(LONGEST_EVALUATION),
        };
        let mut one = plan(rule, facts, limits, ctx.new_id(), is_dry);
        if one.elapsed > LONG_EVALUATION {
            tokio::task::yield_now().await;
        }
        if !is_dry {
            act(ctx, &mut one, subject, occasion, begun + longest).await;
        }
        one.elapsed = begun.elapsed();
        outcome.runs.push(one);
    }
    outcome.elapsed = started.elapsed();
    Ok(outcome)
}

/// Performs the actions of a rule in their order until this instant, as far as they act before the end of the run. All fields are set by one command,
/// with the first action that sets one. At the limit the action that is under way is rolled back, and nothing of it or of the later ones takes effect.
async fn act(ctx: &RequestContext, run: &mut RuleRun, subject: RunSubject<'_>, occasion: Uuid, until: Instant) {
    for action in 0..run.results.len() {
        let left = until.saturating_duration_since(Instant::now());
        let is_done = !left.is_zero() && {
            run.write_lines_of(action);
            write::write(ctx, run, action, subject, left).await
                && platform_calls::call(ctx, run, action, subject.tenant, occasion, left).await
        };
        if !is_done {
            run.end_with(action);
            return;
        }
    }
}
