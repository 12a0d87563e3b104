//! Rules that validate commands: an interceptor of all commands on the kinds that modules offer for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::Result;
use backoffice_core::command::{CHILDREN, Hook, Interceptor, InterceptorContext, LINKS, Snapshot, Tx, Verdict};
use serde_json::{Map, Value, json};
use time::Date;
use tokio::time::Instant;
use uuid::Uuid;

use crate::compiled::{self, CandidateFilter, CompiledRule, ORGANIZATION, TenantRules};
use crate::condition::reference::RunUser;
use crate::condition::{EvaluationLimits, Patterns, Slice};
use crate::config::RulesConfig;
use crate::engine::evaluate::evaluate;
use crate::engine::lines::LineLog;
use crate::engine::settle::{self, About};
use crate::engine::{
    NOT_RUN, RunError, RunOutcome, RunSubject, TOO_DEEP, Trigger, need_local_date, recipients, user_of,
};

mod write;

pub(crate) use write::write_allowed;
use write::write_blocked;

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
    /// Whether the transaction changes organizations, so that no other one may use the rules that it reads.
    changes_organizations: bool,
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
            changes_organizations: false,
            email: None,
            local_dates: HashMap::new(),
            spent: Duration::ZERO,
        })
    }

    /// Notes that the transaction changes organizations. Rules that were read before may have another tree of them.
    fn change_organizations(&mut self) {
        if !self.changes_organizations {
            self.changes_organizations = true;
            self.rules = None;
        }
    }

    async fn rules(&mut self, tx: &mut Tx<'_>) -> Result<Arc<TenantRules>> {
        if let Some(rules) = &self.rules {
            return Ok(Arc::clone(rules));
        }
        let call = tx.context().call();
        let rules = match self.changes_organizations {
            true => compiled::uncommitted_rules(tx.conn(), call, self.tenant).await?,
            false => compiled::rules_of(tx.conn(), call, self.tenant).await?,
        };
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
    fields_of(snapshot.fields())
}

pub(crate) fn fields_of(members: &Map<String, Value>) -> Map<String, Value> {
    let own = members.iter().filter(|(name, _)| *name != CHILDREN && *name != LINKS);
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn guard(tx: &mut Tx<'_>, context: &InterceptorContext<'_>) -> Result<Verdict> {
    if context.hook == Hook::BeforeExecute {
        return Ok(Verdict::Continue);
    }
    if context.kind == ORGANIZATION {
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
    // A command of the directory may change organizations besides this record.
    if context.kind == ORGANIZATION || context.command.starts_with("directory.") {
        shared.change_organizations();
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
    let filter = CandidateFilter {
        entity_type: change.kind,
        changes: Some(&names),
        is_event: false,
        organization: change.organization(),
        now: tx.context().now(),
    };
    let candidates: Vec<Arc<CompiledRule>> = rules
        .candidates(filter)
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
    let verdict = decide(tx, change, user, outcome, rules)?;
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
    let mut facts = subject.facts(user.clone(), ctx.now(), local_date);
    let (patterns, lines) = (ctx.call().provided::<Patterns>()?, ctx.call().provided::<LineLog>()?);
    let started = Instant::now();
    let (mut outcome, mut slice) = (RunOutcome::default(), Slice::begin());
    for rule in rules {
        let spent = shared.spent + started.elapsed();
        if spent > config.guard_run {
            outcome.is_incomplete = true;
            outcome.errors.push(RunError {
                rule: Some(rule.key.clone()),
                code: NOT_RUN,
            });
            continue;
        }
        let limits = EvaluationLimits {
            patterns: &patterns,
            longest: config.guard_rule.min(config.guard_run.saturating_sub(spent)),
        };
        facts.event_type = rule.name_of(&change.names);
        let mut run = evaluate(rule, &facts, limits, tx.new_id());
        run.event_type = facts.event_type.map(str::to_owned);
        if run.elapsed > config.guard_rule {
            run.end_with(0);
        }
        for line in run.take_lines(None) {
            lines.write(ctx.platform().clock().now(), shared.tenant, rule, &line);
        }
        outcome.runs.push(run);
        slice.yield_if_over().await;
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
    /// The rules of the tenant as the transaction sees them.
    rules: Arc<TenantRules>,
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
            rules: Some(&self.rules),
        }
    }
}

/// Lets the command continue or rejects it, and leaves what the guards write for the end of the transaction.
fn decide(
    tx: &mut Tx<'_>,
    change: ValidatedChange<'_>,
    user: RunUser,
    outcome: RunOutcome,
    rules: Arc<TenantRules>,
) -> Result<Verdict> {
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
        rules,
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
    // A message without a text is not a reason.
    let is_text = |text: &&str| !text.trim().is_empty();
    let mut texts = messages.iter().filter_map(|message| message.get("message")?.as_str());
    let first = texts.find(is_text);
    let blocking = outcome.runs.iter().filter(|run| run.vetoes());
    let reason = |run: &crate::engine::RuleRun| {
        let shown = run.messages.iter().map(|message| message.text.as_str());
        let blocked = run.results.iter().filter(|result| result.word == "BLOCK_TRANSITION");
        let blocked = blocked.filter_map(|result| result.fields.get("message")?.as_str());
        shown.chain(blocked).find(is_text).map(str::to_owned)
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
