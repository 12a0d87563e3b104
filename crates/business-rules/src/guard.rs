//! Rules that validate commands: an interceptor of all commands on the kinds that modules offer for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::command::{CHILDREN, Hook, Interceptor, InterceptorContext, LINKS, Snapshot, Tx, Verdict};
use backoffice_core::{Call, Result};
use serde_json::{Map, Value, json};
use time::Date;
use tokio::time::Instant;
use uuid::Uuid;

use crate::compiled::{self, CandidateFilter, CompiledRule, TenantRules};
use crate::condition::reference::RunUser;
use crate::condition::{EvaluationLimits, Patterns};
use crate::config::RulesConfig;
use crate::engine::evaluate::evaluate;
use crate::engine::settle::{self, About, LOG, Leavings};
use crate::engine::{
    LONG_EVALUATION, RunError, RunOutcome, RunSubject, TOO_DEEP, Trigger, failure, need_local_date, recipients, user_of,
};
use crate::platform_calls::{self, QueuedCall};
use crate::webhooks::{NewDelivery, queue};

/// Largest header with messages, in bytes.
const LARGEST_HEADER: usize = 4096;
/// Why a rule of a rejected command does not call the platform.
const REJECTED: &str = "change_rejected";

/// Validates every command on a guardable kind, regardless of its caller, and its undo and redo. Runs after the interceptors of other modules.
pub(crate) const GUARD: Interceptor = Interceptor {
    id: "business_rules.guard",
    target: "*",
    priority: 1000,
    run: |tx, context| Box::pin(guard(tx, context)),
};

/// What is the same for all records that a transaction changes.
struct SharedFacts {
    tenant: Uuid,
    rules: Option<Arc<TenantRules>>,
    /// The e-mail address of the user, once a rule has needed it.
    email: Option<Option<String>>,
    /// The dates in the zones of organizations, once a rule has needed them.
    local_dates: HashMap<Option<Uuid>, Option<Date>>,
    /// The time that the rules of the present command have taken.
    spent: Duration,
}

impl SharedFacts {
    /// Returns the facts that an earlier record of the transaction has left.
    fn take(tx: &mut Tx<'_>) -> Self {
        let tenant = tx.tenant();
        let kept = tx.take_kept::<Self>().filter(|kept| kept.tenant == tenant);
        kept.unwrap_or_else(|| Self {
            tenant,
            rules: None,
            email: None,
            local_dates: HashMap::new(),
            spent: Duration::ZERO,
        })
    }

    async fn rules(&mut self, tx: &mut Tx<'_>) -> Result<Arc<TenantRules>> {
        if let Some(rules) = &self.rules {
            return Ok(Arc::clone(rules));
        }
        let call = tx.context().call();
        let rules = compiled::rules_of(tx.conn(), call, self.tenant).await?;
        self.rules = Some(Arc::clone(&rules));
        Ok(rules)
    }
}

/// The change that rules validate.
struct ValidatedChange<'a> {
    id: Uuid,
    kind: &'static str,
    /// The record as it will be, or as it was if it is deleted.
    shown: &'a Snapshot,
    /// Names of the change: `updated`, and those of further events about the record.
    names: Vec<String>,
    data: Value,
}

impl<'a> ValidatedChange<'a> {
    /// Returns the change that a hook sees; `None` if nothing changes.
    fn of(tx: &Tx<'_>, context: &InterceptorContext<'a>) -> Option<Self> {
        let shown = context.after.or(context.before)?;
        let changed: Vec<&str> = context
            .changes
            .into_iter()
            .flatten()
            .map(|(field, _)| field.as_str())
            .collect();
        let (was, is) = (context.before.is_some(), context.after.is_some());
        if was && is && changed.is_empty() {
            return None;
        }
        let name = match (context.hook, was, is) {
            (Hook::BeforeUndo, ..) => "undone",
            (Hook::BeforeRedo, ..) => "redone",
            (_, false, _) => "created",
            (_, true, false) => "deleted",
            (_, true, true) => "updated",
        };
        let mut names = vec![name.to_owned()];
        if context.hook == Hook::AfterExecute {
            let own = tx
                .emitted(context.id)
                .filter_map(|event| event.strip_prefix(context.kind));
            names.extend(own.filter_map(|verb| verb.strip_prefix('.').map(str::to_owned)));
        }
        let mut data = fields(shown);
        data.insert("_changed".to_owned(), json!(changed));
        let before = context
            .before
            .map_or(Value::Null, |before| Value::Object(fields(before)));
        data.insert("_before".to_owned(), before);
        Some(Self {
            id: context.id,
            kind: context.kind,
            shown,
            names,
            data: Value::Object(data),
        })
    }

    fn organization(&self) -> Option<Uuid> {
        self.shown.get("organizationId").and_then(Value::as_str)?.parse().ok()
    }
}

/// Returns the fields of a record, without rows that belong to it.
pub(crate) fn fields(snapshot: &Snapshot) -> Map<String, Value> {
    fields_of(snapshot.members())
}

pub(crate) fn fields_of(members: &Map<String, Value>) -> Map<String, Value> {
    let own = members.iter().filter(|(name, _)| *name != CHILDREN && *name != LINKS);
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn guard(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if context.hook == Hook::BeforeExecute {
        return Ok(Verdict::Continue);
    }
    if context.kind == "directory.organization" {
        compiled::forget(tx)?;
    }
    let ctx = tx.context();
    if !ctx
        .platform()
        .record_kind(context.kind)
        .is_some_and(|kind| kind.guardable)
    {
        return Ok(Verdict::Continue);
    }
    let mut shared = SharedFacts::take(tx);
    if !context.is_affected {
        shared.spent = Duration::ZERO;
    }
    let verdict = validate(tx, context, &mut shared).await;
    tx.keep(shared);
    verdict
}

async fn validate(tx: &mut Tx<'_>, context: &InterceptorContext<'_>, shared: &mut SharedFacts) -> Result<Verdict> {
    let rules = shared.rules(tx).await?;
    if !rules.has(context.kind) {
        return Ok(Verdict::Continue);
    }
    let Some(change) = ValidatedChange::of(tx, context) else {
        return Ok(Verdict::Continue);
    };
    let names: Vec<&str> = change.names.iter().map(String::as_str).collect();
    let wanted = CandidateFilter {
        entity_type: change.kind,
        changes: Some(&names),
        is_event: false,
        organization: change.organization(),
        now: tx.context().now(),
    };
    let candidates: Vec<Arc<CompiledRule>> = rules
        .candidates(wanted)
        .filter(|rule| rule.validates())
        .map(Arc::clone)
        .collect();
    if candidates.is_empty() {
        return Ok(Verdict::Continue);
    }
    let started = Instant::now();
    let user = user(tx, &candidates, shared).await?;
    let outcome = validate_all(tx, &change, &candidates, &user, shared).await?;
    metrics::histogram!("business_rules_guard_seconds").record(started.elapsed().as_secs_f64());
    let verdict = decide(tx, change, user, outcome)?;
    let result = match verdict {
        Verdict::Continue => "allowed",
        Verdict::Reject { .. } => "blocked",
    };
    metrics::counter!("business_rules_runs_total", "trigger" => "guard", "result" => result).increment(1);
    Ok(verdict)
}

/// Returns the user of the request, with the e-mail address if a rule needs it.
async fn user(tx: &mut Tx<'_>, rules: &[Arc<CompiledRule>], shared: &mut SharedFacts) -> Result<RunUser> {
    let identity = tx.context().identity();
    let mut user = user_of(identity);
    let needs_email = rules
        .iter()
        .any(|rule| rule.body.as_ref().is_some_and(|body| body.needs_email));
    if needs_email
        && let Some(id) = settle::executor(identity)
        && identity.tenant == tx.tenant()
    {
        if shared.email.is_none() {
            shared.email = Some(recipients::email_of(tx.conn(), shared.tenant, id).await?);
        }
        user.email = shared.email.clone().flatten();
    }
    Ok(user)
}

async fn validate_all(
    tx: &mut Tx<'_>,
    change: &ValidatedChange<'_>,
    rules: &[Arc<CompiledRule>],
    user: &RunUser,
    shared: &mut SharedFacts,
) -> Result<RunOutcome> {
    let ctx = tx.context();
    let config = ctx.call().provided::<RulesConfig>()?;
    if rules.len() > config.max_rules {
        return Ok(RunOutcome::too_many());
    }
    let id = change.id.to_string();
    let subject = subject(tx.tenant(), change, &id);
    let local_date = match (need_local_date(rules), shared.local_dates.get(&subject.organization)) {
        (true, Some(known)) => *known,
        (true, None) => {
            let date = subject.local_date(tx.conn(), ctx.platform(), ctx.now()).await?;
            shared.local_dates.insert(subject.organization, date);
            date
        }
        (false, _) => None,
    };
    // The rules of many records don't keep the thread from other requests.
    if !shared.spent.is_zero() {
        tokio::task::yield_now().await;
    }
    let facts = subject.facts(user.clone(), ctx.now(), local_date);
    let patterns = ctx.call().provided::<Patterns>()?;
    let started = Instant::now();
    let mut outcome = RunOutcome::default();
    for rule in rules {
        let spent = shared.spent + started.elapsed();
        if spent > config.guard_run {
            outcome.is_incomplete = true;
            outcome.errors.push(RunError {
                rule: Some(rule.key.clone()),
                code: "not_run",
            });
            continue;
        }
        let limits = EvaluationLimits {
            patterns: &patterns,
            longest: config.guard_rule.min(config.guard_run.saturating_sub(spent)),
        };
        let mut run = evaluate(rule, &facts, limits, tx.new_id());
        if run.elapsed > config.guard_rule {
            run.end_with(0);
        }
        let is_long = run.elapsed > LONG_EVALUATION;
        outcome.runs.push(run);
        if is_long {
            tokio::task::yield_now().await;
        }
    }
    shared.spent += started.elapsed();
    Ok(outcome)
}

fn subject<'a>(tenant: Uuid, change: &'a ValidatedChange<'_>, id: &'a str) -> RunSubject<'a> {
    RunSubject {
        tenant,
        organization: change.organization(),
        entity_type: change.kind,
        entity_id: Some(id),
        event_type: change.names.first().map(String::as_str),
        data: &change.data,
    }
}

/// The rows, notifications and events of validated changes, until its transaction ends.
pub(crate) struct GuardRun {
    tenant: Uuid,
    organization: Option<Uuid>,
    kind: &'static str,
    id: String,
    name: Option<String>,
    data: Value,
    user: RunUser,
    executed_by: Option<Uuid>,
    run: Uuid,
    /// The number of rules in the chain of causes of the command.
    depth: u32,
    outcome: RunOutcome,
}

impl GuardRun {
    fn about(&self, now: backoffice_core::Timestamp) -> About<'_> {
        About {
            subject: RunSubject {
                tenant: self.tenant,
                organization: self.organization,
                entity_type: self.kind,
                entity_id: Some(&self.id),
                event_type: self.name.as_deref(),
                data: &self.data,
            },
            run: self.run,
            trigger: Trigger::Guard,
            user: &self.user,
            executed_by: self.executed_by,
            now,
        }
    }
}

/// Lets the command continue or rejects it, and leaves what the guards write for the end of the transaction.
fn decide(tx: &mut Tx<'_>, change: ValidatedChange<'_>, user: RunUser, outcome: RunOutcome) -> Result<Verdict> {
    let ctx = tx.context();
    let is_allowed = outcome.allows();
    let messages = outcome.messages();
    let verdict = match is_allowed {
        true => Verdict::Continue,
        false => rejection(&outcome, &messages),
    };
    let config = ctx.call().provided::<RulesConfig>()?;
    let mut guard_run = GuardRun {
        tenant: tx.tenant(),
        organization: change.organization(),
        kind: change.kind,
        id: change.id.to_string(),
        name: change.names.first().cloned(),
        data: change.data,
        user,
        executed_by: settle::executor(ctx.identity()),
        run: tx.new_id(),
        depth: ctx.cause().map_or(0, |cause| cause.depth),
        outcome,
    };
    // The platform is called after the commit; a rejected command has none, and a chain of rules ends.
    if is_allowed && guard_run.depth >= config.max_depth {
        guard_run
            .outcome
            .runs
            .iter_mut()
            .for_each(|run| run.drop_calls(TOO_DEEP));
    }
    // A rule that neither blocks nor acts is of no interest.
    let is_logged = |run: &crate::engine::RuleRun| {
        config.log_passes || run.vetoes() || !run.results.is_empty() || run.error.is_some()
    };
    guard_run.outcome.runs.retain(is_logged);
    if !guard_run.outcome.runs.is_empty() {
        tx.defer(guard_run);
    }
    if !is_allowed {
        // With the records of the command that were validated before.
        let mut blocked = tx.take_deferred::<GuardRun>();
        let runs = blocked.iter_mut().flat_map(|guard_run| &mut guard_run.outcome.runs);
        runs.for_each(|run| run.drop_calls(REJECTED));
        let call = ctx.call().clone();
        tx.on_completion(move |connection| Box::pin(write_blocked(connection, call, blocked)));
    }
    Ok(verdict)
}

/// Returns the 422 of a command that rules disallow.
fn rejection(outcome: &RunOutcome, messages: &[Value]) -> Verdict {
    let first = messages.first().and_then(|message| message.get("message")?.as_str());
    let blocking = outcome.runs.iter().filter(|run| run.vetoes());
    let reason = |run: &crate::engine::RuleRun| {
        let shown = run.messages.first().map(|message| message.text.clone());
        let blocked = run.results.iter().find(|result| result.word == "BLOCK_TRANSITION");
        let blocked = blocked.and_then(|result| result.fields.get("message")?.as_str().map(str::to_owned));
        shown.or(blocked)
    };
    let rules: Vec<Value> = blocking
        .clone()
        .map(|run| json!({"ruleId": run.rule.key, "ruleName": run.rule.name, "message": reason(run)}))
        .collect();
    let text = first.map(str::to_owned).or_else(|| blocking.clone().find_map(reason));
    let text = text.unwrap_or_else(|| "Blocked by business rule".to_owned());
    let mut body = Map::new();
    body.insert("error".to_owned(), json!(text));
    body.insert("code".to_owned(), json!("business_rule_blocked"));
    body.insert("rules".to_owned(), json!(rules));
    body.insert("messages".to_owned(), json!(messages));
    if !outcome.errors.is_empty() {
        let errors: Vec<Value> = outcome.errors.iter().map(RunError::to_value).collect();
        body.insert("errors".to_owned(), json!(errors));
    }
    Verdict::Reject {
        message: text,
        code: Some("business_rule_blocked".to_owned()),
        status: Some(422),
        body: Some(body),
    }
}

/// Returns the messages for the header of a response, each once: as many as fit.
fn header(messages: &[Value]) -> String {
    let encoded = |json: &str| {
        let encoded: String = url::form_urlencoded::byte_serialize(json.as_bytes()).collect();
        encoded.replace('+', "%20")
    };
    let (mut header, end, mut seen) = (encoded("["), encoded("]"), HashSet::new());
    for message in messages.iter().map(Value::to_string) {
        let separator = if seen.is_empty() { "" } else { "," };
        let added = encoded(&format!("{separator}{message}"));
        if !seen.insert(message) {
            continue;
        }
        if header.len() + added.len() + end.len() > LARGEST_HEADER {
            break;
        }
        header.push_str(&added);
    }
    header + &end
}

/// Writes what guards leave of allowed changes, together with them.
pub(crate) async fn write_allowed(tx: &mut Tx<'_>, guard_runs: Vec<GuardRun>) -> Result<()> {
    let (ctx, now) = (tx.context(), tx.now());
    let messages: Vec<Value> = guard_runs
        .iter()
        .flat_map(|guard_run| guard_run.outcome.messages())
        .collect();
    if !messages.is_empty() {
        tx.response_header("x-rule-messages", header(&messages));
    }
    let (mut rows, mut webhooks, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for mut guard_run in guard_runs {
        let mut runs = std::mem::take(&mut guard_run.outcome.runs);
        let (tenant, run, depth) = (guard_run.tenant, guard_run.run, guard_run.depth);
        calls.extend(
            runs.iter_mut()
                .flat_map(|one| QueuedCall::take(one, tenant, run, depth)),
        );
        let mut leavings = settle::settle(tx.conn(), ctx.call(), guard_run.about(now), &mut runs).await?;
        for one in runs.iter().filter(|one| one.is_too_deep()) {
            failure::report(tx.conn(), tenant, &(&*one.rule).into(), TOO_DEEP, &mut leavings).await?;
        }
        rows.extend(leavings.rows);
        webhooks.extend(leavings.webhooks);
        backoffice_notifications::send(tx, &leavings.notifications).await?;
        for event in leavings.events {
            tx.emit(event);
        }
    }
    settle::write_rows(tx.conn(), &rows).await?;
    share_batch(&mut webhooks);
    queue(tx, &webhooks).await?;
    platform_calls::enqueue(tx, &calls).await?;
    tx.changed(LOG);
    Ok(())
}

/// Lets one job send all webhooks of a transaction.
fn share_batch(webhooks: &mut [NewDelivery]) {
    if let Some(batch) = webhooks.first().map(|first| first.batch_id) {
        for one in webhooks {
            one.batch_id = batch;
        }
    }
}

/// Writes what guards leave of a blocked command, after its rollback.
async fn write_blocked(
    connection: &mut diesel_async::AsyncPgConnection,
    call: Call,
    guard_runs: Vec<GuardRun>,
) -> Result<()> {
    let Some(tenant) = guard_runs.first().map(|first| first.tenant) else {
        return Ok(());
    };
    let mut all = Leavings::default();
    for mut guard_run in guard_runs {
        let mut runs = std::mem::take(&mut guard_run.outcome.runs);
        let leavings = settle::settle(connection, &call, guard_run.about(call.now), &mut runs).await?;
        all.rows.extend(leavings.rows);
        all.notifications.extend(leavings.notifications);
        all.events.extend(leavings.events);
        all.webhooks.extend(leavings.webhooks);
    }
    share_batch(&mut all.webhooks);
    settle::write_last(connection, &call, tenant, &all).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_as_many_messages_as_fit() {
        let message = |length: usize| json!({"level": "info", "message": "x".repeat(length), "ruleId": "r"});
        let number = |header: &str| header.matches("ruleId").count();

        assert_eq!(number(&header(&[message(10), message(11)])), 2);
        assert_eq!(number(&header(&[message(10), message(5000), message(11)])), 1);
        assert_eq!(header(&[message(5000)]), "%5B%5D");
    }

    #[test]
    fn a_message_about_many_records_is_in_the_header_once() {
        let message = |text: &str| json!({"level": "info", "message": text, "ruleId": "r"});
        let encoded = header(&[message("a, b"), message("c"), message("a, b")]);

        let parsed: Vec<(String, String)> = url::form_urlencoded::parse(format!("m={encoded}").as_bytes())
            .into_owned()
            .collect();
        let parsed: Value = serde_json::from_str(&parsed[0].1).expect("JSON");
        assert_eq!(parsed, json!([message("a, b"), message("c")]));
    }
}
