//! Runs rules: [`evaluate`](evaluate::evaluate) evaluates one rule without any effect, [`run`](run::run) runs several outside of a command, and
//! [`settle`](settle::settle) prepares what the transaction at the end of a run writes.

pub(crate) mod evaluate;
pub(crate) mod failure;
pub(crate) mod lines;
pub(crate) mod recipients;
pub(crate) mod redact;
pub(crate) mod run;
pub(crate) mod settle;
pub(crate) mod write;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::organization_zone::local_date;
use backoffice_core::{Platform, Result, Timestamp};
use diesel_async::AsyncPgConnection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use time::Date;
use uuid::Uuid;

use crate::action::{ALLOW, BLOCK, MessageLevel, Severity};
use crate::compiled::CompiledRule;
use crate::condition::{Facts, TextBudget, reference::RunUser};

/// Reason of the failure of a rule that other rules have started too many times.
pub(crate) const TOO_DEEP: &str = "rules start each other too many times";
/// Error of a rule, and of the action that was under way, at the limit of its time.
pub(crate) const TIMEOUT: &str = "timeout";
/// Error of actions behind the one with which their rule has ended.
pub(crate) const NOT_RUN: &str = "not_run";
/// Error of a run with more rules than may run.
const TOO_MANY_RULES: &str = "too_many_rules";
/// The errors of runs.
pub(crate) const RUN_ERRORS: [&str; 2] = [TOO_MANY_RULES, NOT_RUN];

/// What rules are applied to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunSubject<'a> {
    pub(crate) tenant: Uuid,
    /// The organization of the record.
    pub(crate) organization: Option<Uuid>,
    pub(crate) entity_type: &'a str,
    pub(crate) entity_id: Option<&'a str>,
    pub(crate) event_type: Option<&'a str>,
    pub(crate) data: &'a Value,
}

impl<'a> RunSubject<'a> {
    /// Returns the date in the zone of the record's organization; `None` without an organization.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub(crate) async fn local_date(
        &self,
        connection: &AsyncPgConnection,
        platform: &Platform,
        now: Timestamp,
    ) -> Result<Option<Date>> {
        let Some(organization) = self.organization else {
            return Ok(None);
        };
        let of = (self.tenant, organization);
        Ok(Some(local_date(connection, platform, of, now).await?))
    }

    /// Returns the values to which conditions and texts refer. Without a local date, it is that of UTC.
    pub(crate) fn facts(&self, user: RunUser, now: Timestamp, local_date: Option<Date>) -> Facts<'a> {
        let now = now.to_string();
        let today: String = now.chars().take(10).collect();
        Facts {
            data: self.data,
            local_today: Cow::Owned(local_date.map_or_else(|| today.clone(), |date| date.to_string())),
            today: Cow::Owned(today),
            now: Cow::Owned(now),
            user,
            tenant: Cow::Owned(self.tenant.to_string()),
            organization: self.organization.map(|id| Cow::Owned(id.to_string())),
            entity_type: self.entity_type,
            entity_id: self.entity_id,
            event_type: self.event_type,
            budget: TextBudget::default(),
        }
    }
}

/// Whether one of the rules needs the date in the zone of the record's organization.
pub(crate) fn need_local_date(rules: &[Arc<CompiledRule>]) -> bool {
    rules
        .iter()
        .any(|rule| rule.body.as_ref().is_some_and(|body| body.needs_local_date))
}

/// Returns the user of an identity, without the e-mail address.
pub(crate) fn user_of(identity: &Identity) -> RunUser {
    match identity.kind {
        ActorKind::User => RunUser {
            id: identity.id.map(|id| id.to_string()),
            email: None,
            role: identity.roles.first().map(|role| role.name.clone()),
        },
        ActorKind::ApiKey | ActorKind::System => RunUser::default(),
    }
}

/// The way in which a run was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// By a request for rules.
    Api,
    /// By a request for a set.
    Set,
    /// By a command, which the rules validate.
    Guard,
    /// By an event.
    Event,
}

impl Trigger {
    /// All triggers.
    pub(crate) const ALL: [Self; 4] = [Self::Api, Self::Set, Self::Guard, Self::Event];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Set => "set",
            Self::Guard => "guard",
            Self::Event => "event",
        }
    }
}

/// A message for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleMessage {
    /// The action among the results of the rule.
    pub(crate) action: usize,
    pub(crate) level: MessageLevel,
    pub(crate) text: String,
    /// The key of the rule.
    pub(crate) rule: String,
}

impl RuleMessage {
    pub(crate) fn to_value(&self) -> Value {
        json!({"level": self.level.word(), "message": self.text, "ruleId": self.rule})
    }
}

/// The outcome of an action.
#[derive(Debug, Clone)]
pub(crate) struct ActionResult {
    pub(crate) word: &'static str,
    pub(crate) error: Option<String>,
    pub(crate) is_simulated: bool,
    /// Further fields of the result.
    pub(crate) fields: Map<String, Value>,
}

impl ActionResult {
    pub(crate) fn to_value(&self) -> Value {
        let mut value = Map::new();
        value.insert("type".to_owned(), json!(self.word));
        value.insert("success".to_owned(), json!(self.error.is_none()));
        if self.is_simulated {
            value.insert("simulated".to_owned(), json!(true));
        }
        if let Some(error) = &self.error {
            value.insert("error".to_owned(), json!(error));
        }
        value.extend(self.fields.clone());
        Value::Object(value)
    }
}

/// A line for the log of the server.
#[derive(Debug, Clone)]
pub(crate) struct PlannedLine {
    /// The action among the results of the rule.
    pub(crate) action: usize,
    pub(crate) level: MessageLevel,
    pub(crate) text: String,
}

/// A notification that the transaction at the end of a run sends.
#[derive(Debug, Clone)]
pub(crate) struct PlannedNotification {
    /// The action among the results of the rule.
    pub(crate) action: usize,
    /// Ids and e-mail addresses of users.
    pub(crate) users: Vec<String>,
    /// Names of roles.
    pub(crate) roles: Vec<String>,
    pub(crate) subject: String,
    pub(crate) message: String,
    pub(crate) severity: Severity,
    pub(crate) link: Option<String>,
    pub(crate) push: bool,
}

/// An event that the transaction at the end of a run emits.
#[derive(Debug, Clone)]
pub(crate) struct PlannedEvent {
    /// The action among the results of the rule.
    pub(crate) action: usize,
    pub(crate) name: String,
    pub(crate) payload: Map<String, Value>,
}

/// A webhook that the transaction at the end of a run queues.
#[derive(Debug, Clone)]
pub(crate) struct PlannedWebhook {
    /// The action among the results of the rule.
    pub(crate) action: usize,
    pub(crate) url: String,
    pub(crate) method: &'static str,
    pub(crate) headers: Map<String, Value>,
    pub(crate) body: String,
}

/// A request to the platform, sent as the run goes, or after the commit of the command that the rule validates.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlannedCall {
    /// The action among the results of the rule.
    pub(crate) action: usize,
    pub(crate) method: String,
    /// The path below the API prefix, with the query.
    pub(crate) target: String,
    /// The API key.
    pub(crate) key: Uuid,
    pub(crate) body: Option<Value>,
}

/// Fields to set, all of a branch together.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlannedWrite {
    /// The actions among the results of the rule.
    pub(crate) actions: Vec<usize>,
    pub(crate) fields: Map<String, Value>,
}

/// The run of one rule.
#[derive(Debug, Clone)]
pub(crate) struct RuleRun {
    pub(crate) rule: Arc<CompiledRule>,
    pub(crate) log_id: Uuid,
    /// The name that the change has for this rule; `None` for that of the run.
    pub(crate) event_type: Option<String>,
    /// The value of the condition; `None` after an error.
    pub(crate) condition: Option<bool>,
    pub(crate) error: Option<String>,
    pub(crate) results: Vec<ActionResult>,
    pub(crate) messages: Vec<RuleMessage>,
    /// Lines for the log of the server that are not written yet.
    pub(crate) lines: Vec<PlannedLine>,
    /// Whether the executed actions disallow the change.
    pub(crate) blocks: bool,
    /// Whether the executed actions lift the veto of the rule itself.
    pub(crate) lifts: bool,
    pub(crate) notifications: Vec<PlannedNotification>,
    pub(crate) events: Vec<PlannedEvent>,
    pub(crate) webhooks: Vec<PlannedWebhook>,
    pub(crate) calls: Vec<PlannedCall>,
    pub(crate) write: Option<PlannedWrite>,
    pub(crate) elapsed: Duration,
}

impl RuleRun {
    /// Creates the run of a rule that was not evaluated.
    pub(crate) const fn new(rule: Arc<CompiledRule>, log_id: Uuid) -> Self {
        Self {
            rule,
            log_id,
            event_type: None,
            condition: None,
            error: None,
            results: Vec::new(),
            messages: Vec::new(),
            lines: Vec::new(),
            blocks: false,
            lifts: false,
            notifications: Vec::new(),
            events: Vec::new(),
            webhooks: Vec::new(),
            calls: Vec::new(),
            write: None,
            elapsed: Duration::ZERO,
        }
    }

    /// Takes the lines of an action, or of all actions, which are to be written into the log of the server now.
    pub(crate) fn take_lines(&mut self, action: Option<usize>) -> Vec<PlannedLine> {
        let is_due = |line: &mut PlannedLine| action.is_none_or(|action| line.action == action);
        self.lines.extract_if(.., is_due).collect()
    }

    /// Ends the rule with an action that has reached the limit of its time. Drops the effects of this action and of the later ones, except fields that
    /// are set already.
    pub(crate) fn end_with(&mut self, action: usize) {
        self.error = Some(TIMEOUT.to_owned());
        for (number, result) in self.results.iter_mut().enumerate().skip(action) {
            let reason = if number == action { TIMEOUT } else { NOT_RUN };
            if !result.fields.contains_key("patch") {
                result.error.get_or_insert_with(|| reason.to_owned());
            }
        }
        self.messages.retain(|planned| planned.action < action);
        self.lines.retain(|planned| planned.action < action);
        self.notifications.retain(|planned| planned.action < action);
        self.events.retain(|planned| planned.action < action);
        self.webhooks.retain(|planned| planned.action < action);
        self.calls.retain(|planned| planned.action < action);
        self.write = None;
        let executed = self.results.get(..action).unwrap_or_default();
        self.blocks = executed.iter().any(|result| result.word == BLOCK);
        self.lifts = executed.iter().any(|result| result.word == ALLOW);
    }

    /// Whether the rule disallows the change.
    pub(crate) fn vetoes(&self) -> bool {
        let guards = self.rule.rule_type == "GUARD" && self.condition == Some(false) && !self.lifts;
        let is_unsure = self.rule.validates() && self.error.is_some();
        let shows_error = self.messages.iter().any(|message| message.level == MessageLevel::Error);
        let validates = self.rule.rule_type == "VALIDATION" && shows_error;
        guards || is_unsure || validates || self.blocks
    }

    /// Whether the rule did not call the platform because its chain of causes is too long.
    pub(crate) fn is_too_deep(&self) -> bool {
        self.results
            .iter()
            .any(|result| result.error.as_deref() == Some(TOO_DEEP))
    }

    /// Drops the planned requests to the platform for this reason.
    pub(crate) fn drop_calls(&mut self, reason: &str) {
        for call in std::mem::take(&mut self.calls) {
            if let Some(result) = self.results.get_mut(call.action) {
                result.error = Some(reason.to_owned());
            }
        }
    }

    /// Whether all executed actions have succeeded.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.error.is_none() && self.results.iter().all(|result| result.error.is_none())
    }

    /// Returns the executed actions; null without a value of the condition, because none was executed.
    pub(crate) fn actions_executed(&self, is_dry: bool) -> Value {
        if self.condition.is_none() {
            return Value::Null;
        }
        let results: Vec<Value> = self.results.iter().map(ActionResult::to_value).collect();
        let success = self.results.iter().all(|result| result.error.is_none());
        match is_dry {
            true => json!({"success": success, "simulated": true, "results": results}),
            false => json!({"success": success, "results": results}),
        }
    }

    /// Returns the duration in milliseconds with a fraction.
    pub(crate) fn milliseconds(&self) -> f64 {
        milliseconds(self.elapsed)
    }
}

/// Returns a duration in milliseconds, to a thousandth.
pub(crate) fn milliseconds(elapsed: Duration) -> f64 {
    let micros = u32::try_from(elapsed.as_micros()).unwrap_or(u32::MAX);
    f64::from(micros) / 1000.0
}

/// A problem of the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunError {
    /// The key of the rule that was not run, if the error concerns one.
    pub(crate) rule: Option<String>,
    /// One of [`RUN_ERRORS`].
    pub(crate) code: &'static str,
}

impl RunError {
    pub(crate) fn to_value(&self) -> Value {
        match &self.rule {
            Some(rule) => json!({"ruleId": rule, "code": self.code}),
            None => json!({"code": self.code}),
        }
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOutcome {
    pub(crate) runs: Vec<RuleRun>,
    pub(crate) errors: Vec<RunError>,
    /// Whether a rule that validates changes was not run.
    pub(crate) is_incomplete: bool,
    pub(crate) elapsed: Duration,
}

impl RunOutcome {
    /// Whether the rules allow the change.
    pub(crate) fn allows(&self) -> bool {
        !self.is_incomplete && !self.runs.iter().any(RuleRun::vetoes)
    }

    /// Returns the messages of all rules.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let messages = self.runs.iter().flat_map(|run| &run.messages);
        messages.map(RuleMessage::to_value).collect()
    }

    /// Returns the outcome of a run with more rules than may run: none has run.
    pub(crate) fn too_many() -> Self {
        Self {
            errors: vec![RunError {
                rule: None,
                code: TOO_MANY_RULES,
            }],
            is_incomplete: true,
            ..Self::default()
        }
    }
}
