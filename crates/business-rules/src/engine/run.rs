//! Runs rules outside of a command: for a request or an event.

use std::sync::Arc;
use std::time::Duration;

use backoffice_core::{RequestContext, Result};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::evaluate::plan;
use super::lines::LineLog;
use super::{NOT_RUN, RuleRun, RunError, RunOutcome, RunSubject, write};
use crate::compiled::CompiledRule;
use crate::condition::{EvaluationLimits, Facts, Patterns, SearchThreads, Slice, Unevaluated};
use crate::config::RulesConfig;
use crate::platform_calls::{self, CallEnd};

/// Longest evaluation of a condition, without its waits.
const LONGEST_EVALUATION: Duration = Duration::from_secs(1);

/// What becomes of the actions of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// None of them acts; it is only checked whether fields could be set.
    Dry,
    /// They act, and a call of the platform fails if the platform is not available.
    Once,
    /// They act, and the run ends with an error if the platform is not available for a call, so that a job repeats it.
    Repeatable,
}

/// Runs these rules one after the other, each with its actions in their order. Fields are set and the platform is called as the run goes, as the
/// principal of the context; everything else is planned. `occasion` identifies what has started the run.
///
/// # Errors
/// When the module was not started, or when the platform is not available for a call of a repeatable run.
pub(crate) async fn run(
    ctx: &RequestContext,
    rules: &[Arc<CompiledRule>],
    subject: RunSubject<'_>,
    facts: &Facts<'_>,
    occasion: Uuid,
    mode: RunMode,
) -> Result<RunOutcome> {
    let call = ctx.call();
    let (config, lines) = (call.provided::<RulesConfig>()?, call.provided::<LineLog>()?);
    let (patterns, searches) = (call.provided::<Patterns>()?, call.provided::<SearchThreads>()?);
    if rules.len() > config.max_rules {
        return Ok(RunOutcome::too_many());
    }
    let effects = Effects {
        ctx,
        subject,
        occasion,
        lines: &lines,
        is_repeatable: mode == RunMode::Repeatable,
    };
    let started = Instant::now();
    let (mut outcome, mut slice) = (RunOutcome::default(), Slice::begin());
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
        let held = match &rule.body {
            None => None,
            Some(body) => {
                let evaluated = body.condition.evaluate_in_slices(facts, limits, &searches, &mut slice);
                // Long searches wait for those of other runs.
                let evaluated = timeout(longest, evaluated).await;
                Some(evaluated.unwrap_or(Err(Unevaluated::Timeout)))
            }
        };
        let mut one = plan(rule, facts, held, ctx.new_id(), mode == RunMode::Dry);
        slice.yield_if_over().await;
        match mode {
            RunMode::Dry => {
                let left = longest.saturating_sub(begun.elapsed());
                if let Err(action) = write::check(ctx, &mut one, subject, left).await {
                    one.end_with(action);
                }
            }
            RunMode::Once | RunMode::Repeatable => effects.act(&mut one, begun + longest).await?,
        }
        one.elapsed = begun.elapsed();
        outcome.runs.push(one);
    }
    outcome.elapsed = started.elapsed();
    Ok(outcome)
}

/// What the actions of a run act with.
struct Effects<'a> {
    ctx: &'a RequestContext,
    subject: RunSubject<'a>,
    occasion: Uuid,
    lines: &'a LineLog,
    is_repeatable: bool,
}

impl Effects<'_> {
    /// Performs the actions of a rule in their order until this instant, as far as they act before the end of the run. All fields are set by one command,
    /// with the first action that sets one. At the limit the action that is under way is rolled back, and nothing of it or of the later ones takes effect.
    ///
    /// # Errors
    /// When the platform is not available for a call of a repeatable run. No request was sent then that would have another effect when it is repeated:
    /// reads have none, and a `POST` has the same `Idempotency-Key` again.
    async fn act(&self, run: &mut RuleRun, until: Instant) -> Result<()> {
        let (tenant, clock) = (self.subject.tenant, self.ctx.platform().clock());
        let changing = run.calls.iter().filter(|call| !matches!(&*call.method, "GET" | "POST"));
        let first_changing = changing.map(|call| call.action).min();
        for action in 0..run.results.len() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                run.end_with(action);
                return Ok(());
            }
            for line in run.take_lines(Some(action)) {
                self.lines.write(clock.now(), tenant, &run.rule, &line);
            }
            if !write::write(self.ctx, run, action, self.subject, left).await {
                run.end_with(action);
                return Ok(());
            }
            match platform_calls::call(self.ctx, run, action, tenant, self.occasion, left).await {
                CallEnd::Done => {}
                CallEnd::TimedOut => {
                    run.end_with(action);
                    return Ok(());
                }
                CallEnd::Unavailable(error) => {
                    if self.is_repeatable && first_changing.is_none_or(|first| first >= action) {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }
}
