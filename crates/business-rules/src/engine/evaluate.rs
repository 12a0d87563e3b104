//! Evaluates a rule and plans its actions, without any effect outside of memory.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    ActionResult, NOT_RUN, PlannedCall, PlannedEvent, PlannedLine, PlannedNotification, PlannedWebhook, RuleMessage,
    RuleRun, TIMEOUT,
};
use crate::action::{
    self, Action, Exceeded, HeaderText, LONGEST_MESSAGE, Notify, PlatformCall, Recipient, Template, Webhook,
};
use crate::compiled::CompiledRule;
use crate::condition::{EvaluationLimits, Facts, Unevaluated};
use crate::header_values;

/// Longest payload of an event after its texts were filled, in bytes of JSON.
const LARGEST_PAYLOAD: usize = 16 * 1024;
/// Longest subject and longest address, in characters.
const LONGEST_SUBJECT: usize = 200;
const LONGEST_ADDRESS: usize = 254;
/// Largest body of a webhook or a request to the platform, in bytes.
const LARGEST_BODY: usize = 64 * 1024;
/// Longest value of a header, in characters.
const LONGEST_HEADER: usize = 2000;
/// Error of an action whose value, payload or body is nested too deeply.
const DOCUMENT_TOO_DEEP: &str = "document_too_deep";
/// Error of a rule that builds more than is left of the budget of its run.
const TEXTS_TOO_LONG: &str = "texts_too_long";
/// Error of a rule that is not valid any more.
const INVALID_RULE: &str = "invalid_rule";

/// Evaluates the condition of a rule that validates a command, without a pause, and plans the actions of the branch.
pub(crate) fn evaluate(
    rule: &Arc<CompiledRule>,
    facts: &Facts<'_>,
    limits: EvaluationLimits<'_>,
    log_id: Uuid,
) -> RuleRun {
    let started = Instant::now();
    let held = rule.body.as_ref().map(|body| body.condition.evaluate(facts, limits));
    let mut run = plan(rule, facts, held, log_id, false);
    run.elapsed = started.elapsed();
    run
}

/// Plans the actions of the branch that follows from the value of the condition; a rule without a body has none. A rule that builds too many bytes ends
/// with the action that would have built them: the actions before it remain planned, and the later ones are not run.
pub(crate) fn plan(
    rule: &Arc<CompiledRule>,
    facts: &Facts<'_>,
    held: Option<Result<bool, Unevaluated>>,
    log_id: Uuid,
    is_dry: bool,
) -> RuleRun {
    let mut run = RuleRun::new(Arc::clone(rule), log_id);
    match (&rule.body, held) {
        (Some(body), Some(Ok(held))) => {
            run.condition = Some(held);
            let branch = if held { &body.success } else { &body.failure };
            let mut planner = Planner { run, facts, is_dry };
            for action in branch {
                planner.plan(action);
            }
            run = planner.run;
        }
        (_, Some(Err(unevaluated))) => run.error = Some(error_of(unevaluated).to_owned()),
        (None, _) | (_, None) => run.error = Some(INVALID_RULE.to_owned()),
    }
    run
}

/// Returns the error of a rule whose condition has no result.
const fn error_of(unevaluated: Unevaluated) -> &'static str {
    match unevaluated {
        Unevaluated::TooManySteps => "too_many_steps",
        Unevaluated::Timeout => TIMEOUT,
        Unevaluated::InvalidPattern => INVALID_RULE,
    }
}

/// Why an action was not planned.
enum Fault {
    /// It can't be executed.
    Invalid(&'static str),
    /// The budget of the run is used up.
    Budget,
}

impl Fault {
    /// Returns the fault of an action whose length has this error.
    const fn from_exceeded(exceeded: Exceeded, too_long: &'static str) -> Self {
        match exceeded {
            Exceeded::Length => Self::Invalid(too_long),
            Exceeded::Depth => Self::Invalid(DOCUMENT_TOO_DEEP),
            Exceeded::Budget => Self::Budget,
        }
    }
}

struct Planner<'a, 'f> {
    run: RuleRun,
    facts: &'a Facts<'f>,
    is_dry: bool,
}

impl Planner<'_, '_> {
    fn plan(&mut self, action: &Action) {
        let mut fields = Map::new();
        let error = match self.run.error {
            Some(_) => Some(NOT_RUN),
            None => match self.effect(action, &mut fields) {
                Ok(()) => None,
                Err(Fault::Invalid(reason)) => Some(reason),
                Err(Fault::Budget) => {
                    self.run.error = Some(TEXTS_TOO_LONG.to_owned());
                    Some(TEXTS_TOO_LONG)
                }
            },
        };
        self.run.results.push(ActionResult {
            word: action.word(),
            error: error.map(str::to_owned),
            is_simulated: self.is_dry,
            fields,
        });
    }

    /// Plans the effect of an action, and adds the fields of its result.
    fn effect(&mut self, action: &Action, fields: &mut Map<String, Value>) -> Result<(), Fault> {
        match action {
            Action::Show { level, message } => {
                let text = self.message(message, fields)?;
                self.run.messages.push(RuleMessage {
                    action: self.run.results.len(),
                    level: *level,
                    text,
                    rule: self.run.rule.key.clone(),
                });
            }
            Action::Log { level, message } => {
                let text = self.message(message, fields)?;
                if !self.is_dry {
                    self.run.lines.push(PlannedLine {
                        action: self.run.results.len(),
                        level: *level,
                        text,
                    });
                }
            }
            Action::Block { message } => {
                self.run.blocks = true;
                self.message(message, fields)?;
            }
            Action::Allow { message } => {
                self.message(message, fields)?;
                self.run.lifts = true;
            }
            Action::SetField { field, value } => self.field(field, value, fields)?,
            Action::EmitEvent { name, payload } => self.event(name, payload)?,
            Action::Notify(notify) => self.notification(notify)?,
            Action::CallWebhook(webhook) => self.webhook(webhook)?,
            Action::CallPlatform(call) => self.platform_call(call)?,
        }
        Ok(())
    }

    /// Returns a text of at most this many characters.
    fn text(&self, template: &Template, longest: usize) -> Result<String, Fault> {
        template.text(self.facts, longest).map_err(|_| Fault::Budget)
    }

    /// Returns the text of a message, and adds it to the result.
    fn message(&self, message: &Template, fields: &mut Map<String, Value>) -> Result<String, Fault> {
        let text = self.text(message, LONGEST_MESSAGE)?;
        fields.insert("message".to_owned(), json!(text));
        Ok(text)
    }

    fn field(&mut self, field: &str, value: &Value, fields: &mut Map<String, Value>) -> Result<(), Fault> {
        fields.insert("field".to_owned(), json!(field));
        let value = action::fill(value, self.facts, usize::MAX);
        let value = value.map_err(|exceeded| Fault::from_exceeded(exceeded, TEXTS_TOO_LONG))?;
        let write = self.run.write.get_or_insert_default();
        write.actions.push(self.run.results.len());
        write.fields.insert(field.to_owned(), value);
        if self.facts.entity_id.is_none_or(|id| id.parse::<Uuid>().is_err()) {
            return Err(Fault::Invalid("entity_not_found"));
        }
        Ok(())
    }

    fn event(&mut self, name: &str, payload: &Value) -> Result<(), Fault> {
        let too_long = |exceeded| Fault::from_exceeded(exceeded, "payload_too_long");
        let payload = action::fill(payload, self.facts, LARGEST_PAYLOAD).map_err(too_long)?;
        action::json(&payload, self.facts, LARGEST_PAYLOAD).map_err(too_long)?;
        let Value::Object(mut payload) = payload else {
            return Err(Fault::Invalid("invalid_payload"));
        };
        // The platform says to whom the event belongs.
        payload.remove("tenantId");
        payload.remove("organizationId");
        payload.insert("ruleId".to_owned(), json!(self.run.rule.id));
        self.run.events.push(PlannedEvent {
            action: self.run.results.len(),
            name: name.to_owned(),
            payload,
        });
        Ok(())
    }

    fn notification(&mut self, notify: &Notify) -> Result<(), Fault> {
        let (mut users, mut roles) = (Vec::new(), Vec::new());
        for recipient in &notify.recipients {
            match recipient {
                Recipient::User(user) => users.push(self.text(user, LONGEST_ADDRESS)?),
                Recipient::Role(role) => roles.push(role.clone()),
            }
        }
        let link = match &notify.link {
            None => None,
            Some(link) => {
                let link = link.text(self.facts).map_err(|_| Fault::Budget)?;
                Some(link.ok_or(Fault::Invalid("invalid_link"))?)
            }
        };
        let subject = match &notify.subject {
            None => String::new(),
            Some(subject) => self.text(subject, LONGEST_SUBJECT)?,
        };
        let subject = match subject.trim() {
            "" => self.run.rule.name.clone(),
            _ => subject,
        };
        let message = self.text(&notify.message, LONGEST_MESSAGE)?;
        self.run.notifications.push(PlannedNotification {
            action: self.run.results.len(),
            users,
            roles,
            subject,
            message,
            severity: notify.severity,
            link,
            push: notify.push,
        });
        Ok(())
    }

    fn webhook(&mut self, webhook: &Webhook) -> Result<(), Fault> {
        let url = webhook.url.text(self.facts);
        let url = url.map_err(|exceeded| Fault::from_exceeded(exceeded, "invalid_url"))?;
        let url = url.ok_or(Fault::Invalid("invalid_url"))?;
        let body = match (webhook.method, &webhook.body) {
            ("GET", _) => Ok(String::new()),
            (_, Some(body)) => action::fill(body, self.facts, LARGEST_BODY)
                .and_then(|body| action::json(&body, self.facts, LARGEST_BODY)),
            (_, None) => usual_body(self.facts),
        };
        let body = body.map_err(|exceeded| Fault::from_exceeded(exceeded, "body_too_long"))?;
        let mut headers = Map::new();
        for (name, value) in &webhook.headers {
            let value = match value {
                HeaderText::Plain(template) => {
                    let text = self.text(template, LONGEST_HEADER)?;
                    json!(text.chars().filter(|c| !c.is_control()).collect::<String>())
                }
                HeaderText::Sealed(id) => header_values::reference(*id),
            };
            headers.insert(name.clone(), value);
        }
        self.run.webhooks.push(PlannedWebhook {
            action: self.run.results.len(),
            url,
            method: webhook.method,
            headers,
            body,
        });
        Ok(())
    }

    fn platform_call(&mut self, call: &PlatformCall) -> Result<(), Fault> {
        let target = call.target(self.facts);
        let target = target.map_err(|exceeded| Fault::from_exceeded(exceeded, "invalid_endpoint"))?;
        let target = target.ok_or(Fault::Invalid("invalid_endpoint"))?;
        let body = match call.body.as_ref().filter(|_| call.method != "GET") {
            None => None,
            Some(body) => {
                let too_long = |exceeded| Fault::from_exceeded(exceeded, "body_too_long");
                let body = action::fill(body, self.facts, LARGEST_BODY).map_err(too_long)?;
                action::json(&body, self.facts, LARGEST_BODY).map_err(too_long)?;
                Some(body)
            }
        };
        self.run.calls.push(PlannedCall {
            action: self.run.results.len(),
            method: call.method.to_owned(),
            target,
            key: call.key,
            body,
        });
        Ok(())
    }
}

/// Returns the body of a webhook for which the rule has none.
fn usual_body(facts: &Facts<'_>) -> Result<String, Exceeded> {
    let event = facts.event_type.unwrap_or("executed");
    let (kind, now) = (json!(format!("{}.{event}", facts.entity_type)), json!(facts.now));
    let fields = [("data", facts.data), ("timestamp", &now), ("type", &kind)];
    action::json_object(&fields, facts, LARGEST_BODY)
}
