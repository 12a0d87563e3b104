//! Evaluates a rule and plans its actions, without any effect outside of memory, except lines of the server's log.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::{ActionResult, PlannedCall, PlannedEvent, PlannedNotification, PlannedWebhook, RuleMessage, RuleRun};
use crate::action::{
    self, Action, HeaderText, LONGEST_MESSAGE, MessageLevel, Notify, PlatformCall, Recipient, Webhook,
};
use crate::compiled::CompiledRule;
use crate::condition::Facts;
use crate::header_values;

/// Longest payload of an event after its texts were filled, in bytes of JSON.
const LARGEST_PAYLOAD: usize = 16 * 1024;
/// Longest subject and longest address, in characters.
const LONGEST_SUBJECT: usize = 200;
const LONGEST_ADDRESS: usize = 254;
const LONGEST_LINK: usize = 1000;
/// Largest body of a webhook or a request to the platform, in bytes.
const LARGEST_BODY: usize = 64 * 1024;
/// Longest value of a header, in characters.
const LONGEST_HEADER: usize = 2000;

/// Evaluates the condition of a rule and plans the actions of the branch.
pub(crate) fn evaluate(rule: &Arc<CompiledRule>, facts: &Facts<'_>, log_id: Uuid, is_dry: bool) -> RuleRun {
    let started = Instant::now();
    let mut run = RuleRun {
        rule: Arc::clone(rule),
        log_id,
        condition: None,
        error: None,
        results: Vec::new(),
        messages: Vec::new(),
        blocks: false,
        lifts: false,
        notifications: Vec::new(),
        events: Vec::new(),
        webhooks: Vec::new(),
        calls: Vec::new(),
        write: None,
        elapsed: std::time::Duration::ZERO,
    };
    match &rule.body {
        None => run.error = Some("invalid_rule".to_owned()),
        Some(body) => match body.condition.evaluate(facts) {
            Err(_) => run.error = Some("too_many_steps".to_owned()),
            Ok(holds) => {
                run.condition = Some(holds);
                let branch = if holds { &body.success } else { &body.failure };
                let mut planner = Planner { run, facts, is_dry };
                for action in branch {
                    planner.plan(action);
                }
                run = planner.run;
            }
        },
    }
    run.elapsed = started.elapsed();
    run
}

struct Planner<'a, 'f> {
    run: RuleRun,
    facts: &'a Facts<'f>,
    is_dry: bool,
}

impl Planner<'_, '_> {
    fn plan(&mut self, action: &Action) {
        let (facts, longest) = (self.facts, LONGEST_MESSAGE);
        let mut fields = Map::new();
        let mut error = None;
        match action {
            Action::Show { level, message } => {
                let text = message.text(facts, longest);
                fields.insert("message".to_owned(), json!(text));
                self.run.messages.push(RuleMessage {
                    level: *level,
                    text,
                    rule: self.run.rule.key.clone(),
                });
            }
            Action::Log { level, message } => {
                let text = message.text(facts, longest);
                if !self.is_dry {
                    log_line(*level, &self.run.rule, &text);
                }
                fields.insert("message".to_owned(), json!(text));
            }
            Action::Block { message } => {
                self.run.blocks = true;
                fields.insert("message".to_owned(), json!(message.text(facts, longest)));
            }
            Action::Allow { message } => {
                self.run.lifts = true;
                fields.insert("message".to_owned(), json!(message.text(facts, longest)));
            }
            Action::SetField { field, value } => {
                let value = action::fill(value, facts);
                fields.insert("field".to_owned(), json!(field));
                let number = self.run.results.len();
                let write = self.run.write.get_or_insert_default();
                write.actions.push(number);
                write.fields.insert(field.clone(), value);
                if facts.entity_id.is_none_or(|id| id.parse::<Uuid>().is_err()) {
                    error = Some("entity_not_found".to_owned());
                }
            }
            Action::EmitEvent { name, payload } => error = self.event(name, payload),
            Action::Notify(notify) => error = self.notification(notify),
            Action::CallWebhook(webhook) => error = self.webhook(webhook),
            Action::CallPlatform(call) => error = self.platform_call(call),
        }
        self.run.results.push(ActionResult {
            word: action.word(),
            error,
            is_simulated: self.is_dry,
            fields,
        });
    }

    fn event(&mut self, name: &str, payload: &Value) -> Option<String> {
        let Value::Object(mut payload) = action::fill(payload, self.facts) else {
            return Some("invalid_payload".to_owned());
        };
        if Value::Object(payload.clone()).to_string().len() > LARGEST_PAYLOAD {
            return Some("payload_too_long".to_owned());
        }
        // The platform says to whom the event belongs.
        payload.remove("tenantId");
        payload.remove("organizationId");
        payload.insert("ruleId".to_owned(), json!(self.run.rule.id));
        self.run.events.push(PlannedEvent {
            name: name.to_owned(),
            payload,
        });
        None
    }

    fn notification(&mut self, notify: &Notify) -> Option<String> {
        let (mut users, mut roles) = (Vec::new(), Vec::new());
        for recipient in &notify.recipients {
            match recipient {
                Recipient::User(user) => users.push(user.text(self.facts, LONGEST_ADDRESS)),
                Recipient::Role(role) => roles.push(role.clone()),
            }
        }
        let link = notify.link.as_ref().map(|link| link.text(self.facts, LONGEST_LINK));
        if link.as_deref().is_some_and(|link| !action::is_path(link)) {
            return Some("invalid_link".to_owned());
        }
        let subject = notify
            .subject
            .as_ref()
            .map(|subject| subject.text(self.facts, LONGEST_SUBJECT));
        let subject = subject.filter(|subject| !subject.trim().is_empty());
        self.run.notifications.push(PlannedNotification {
            action: self.run.results.len(),
            users,
            roles,
            subject: subject.unwrap_or_else(|| self.run.rule.name.clone()),
            message: notify.message.text(self.facts, LONGEST_MESSAGE),
            severity: notify.severity,
            link,
            push: notify.push,
        });
        None
    }
}

impl Planner<'_, '_> {
    fn webhook(&mut self, webhook: &Webhook) -> Option<String> {
        let Some(url) = webhook.url.text(self.facts) else {
            return Some("invalid_url".to_owned());
        };
        let body = match (webhook.method, &webhook.body) {
            ("GET", _) => String::new(),
            (_, Some(body)) => action::fill(body, self.facts).to_string(),
            (_, None) => usual_body(self.facts).to_string(),
        };
        if body.len() > LARGEST_BODY {
            return Some("body_too_long".to_owned());
        }
        let header = |(name, value): &(String, HeaderText)| {
            let value = match value {
                HeaderText::Plain(template) => {
                    let text = template.text(self.facts, LONGEST_HEADER);
                    json!(text.chars().filter(|c| !c.is_control()).collect::<String>())
                }
                HeaderText::Sealed(id) => header_values::reference(*id),
            };
            (name.clone(), value)
        };
        self.run.webhooks.push(PlannedWebhook {
            action: self.run.results.len(),
            url,
            method: webhook.method,
            headers: webhook.headers.iter().map(header).collect(),
            body,
        });
        None
    }
}

impl Planner<'_, '_> {
    fn platform_call(&mut self, call: &PlatformCall) -> Option<String> {
        let Some(target) = call.target(self.facts) else {
            return Some("invalid_endpoint".to_owned());
        };
        let body = call.body.as_ref().filter(|_| call.method != "GET");
        let body = body.map(|body| action::fill(body, self.facts));
        if body.as_ref().is_some_and(|body| body.to_string().len() > LARGEST_BODY) {
            return Some("body_too_long".to_owned());
        }
        self.run.calls.push(PlannedCall {
            action: self.run.results.len(),
            method: call.method.to_owned(),
            target,
            key: call.key,
            body,
        });
        None
    }
}

/// Returns the body of a webhook for which the rule has none.
fn usual_body(facts: &Facts<'_>) -> Value {
    let event = facts.event_type.unwrap_or("executed");
    json!({"type": format!("{}.{event}", facts.entity_type), "timestamp": facts.now, "data": facts.data})
}

fn log_line(level: MessageLevel, rule: &CompiledRule, text: &str) {
    let text = backoffice_core::text::escape_control_characters(text);
    match level {
        MessageLevel::Error => tracing::error!(rule.id = %rule.id, message = %text, "rule logged"),
        MessageLevel::Warning => tracing::warn!(rule.id = %rule.id, message = %text, "rule logged"),
        MessageLevel::Info => tracing::info!(rule.id = %rule.id, message = %text, "rule logged"),
    }
}
