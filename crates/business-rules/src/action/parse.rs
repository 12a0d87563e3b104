//! Parses actions, and reports everything that is wrong with them.

use backoffice_core::records::RecordKind;
use backoffice_core::{Detail, Platform, document};
use backoffice_egress::Egress;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::platform_call::{LONGEST_ENDPOINT, NamedEndpoint, PlatformCall, method_of};
use super::webhook::{self, LONGEST_URL, METHODS, UrlTemplate, Webhook};
use super::{
    ALLOW, Action, BLOCK, LONGEST_MESSAGE, LinkTemplate, MessageLevel, Notify, Recipient, Severity, Template, WEBHOOK,
};

/// Most actions of a branch.
const MOST_IN_BRANCH: usize = 20;
/// Most recipients of a notification.
const MOST_RECIPIENTS: usize = 50;
/// Longest subject, in characters.
const LONGEST_SUBJECT: usize = 200;
/// Longest link, in characters.
pub(super) const LONGEST_LINK: usize = 1000;
/// Longest name of an event.
const LONGEST_EVENT: usize = 100;
/// Longest payload of an event, in bytes of JSON.
const LARGEST_PAYLOAD: usize = 16 * 1024;
/// Largest body of a request, in bytes of JSON.
const LARGEST_BODY: usize = 64 * 1024;

/// What the rules for actions depend on.
#[derive(Clone, Copy)]
pub(crate) struct ActionRules<'a> {
    /// Whether actions may change the record: those of guards and validations may not.
    pub(crate) may_change: bool,
    /// The kind of the records, if a module offers it.
    pub(crate) kind: Option<&'a RecordKind>,
    /// The platform, whose modules own the names of events.
    pub(crate) platform: &'a Platform,
    /// Decides about addresses of webhooks; `None` for a stored rule, whose addresses and links are checked when they are used.
    pub(crate) egress: Option<&'a Egress>,
}

/// Parses the actions of a branch.
///
/// # Errors
/// The violated rules, with paths from the branch: `[1].config.message`.
pub(crate) fn parse_branch(branch: &Value, rules: ActionRules<'_>) -> Result<Vec<Action>, Vec<Detail>> {
    let Some(items) = branch.as_array() else {
        return Err(vec![Detail::new("", "must be a list of actions", "invalid_type")]);
    };
    if items.len() > MOST_IN_BRANCH {
        let message = format!("must have at most {MOST_IN_BRANCH} actions");
        return Err(vec![Detail::new("", message, "too_long")]);
    }
    let (mut actions, mut details) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        let mut parser = Parser::new(format!("[{index}]"));
        let action = parser.action(item, rules);
        match action {
            Some(action) if parser.details.is_empty() => actions.push(action),
            _ => details.extend(parser.details),
        }
    }
    if details.is_empty() { Ok(actions) } else { Err(details) }
}

/// Returns the values of a new branch that are nested too deeply, with paths from the branch: `[1].config.body`. Stored branches may have such values,
/// which earlier releases have accepted.
pub(crate) fn too_deep(branch: &Value) -> Vec<Detail> {
    let mut details = Vec::new();
    let mut check = |path: String, value: &Value| details.extend(document::check_depth(&path, value).err());
    for (index, action) in branch.as_array().into_iter().flatten().enumerate() {
        for (name, value) in action.as_object().into_iter().flatten() {
            let Some(config) = value.as_object().filter(|_| name == "config") else {
                check(format!("[{index}].{name}"), value);
                continue;
            };
            for (name, value) in config {
                check(format!("[{index}].config.{name}"), value);
            }
        }
    }
    details
}

struct Parser {
    at: String,
    details: Vec<Detail>,
}

impl Parser {
    const fn new(at: String) -> Self {
        Self {
            at,
            details: Vec::new(),
        }
    }

    /// Records a violated rule. Returns nothing, in place of a parsed part.
    fn reject<T>(&mut self, name: &str, message: impl Into<String>, code: &'static str) -> Option<T> {
        let path = match name {
            "" => self.at.clone(),
            name => format!("{}.{name}", self.at),
        };
        self.details.push(Detail::new(path, message, code));
        None
    }

    fn action(&mut self, item: &Value, rules: ActionRules<'_>) -> Option<Action> {
        let Some(fields) = item.as_object() else {
            return self.reject("", "must be an action: an object", "invalid_type");
        };
        let empty = Map::new();
        let config = match fields.get("config") {
            None => &empty,
            Some(Value::Object(config)) => config,
            Some(_) => return self.reject("config", "must be an object", "invalid_type"),
        };
        let show = |level| move |message| Action::Show { level, message };
        match fields.get("type").and_then(Value::as_str) {
            Some("NOTIFY") => self.notify(config, rules).map(Action::Notify),
            Some("SET_FIELD") => self.set_field(config, rules),
            Some("EMIT_EVENT") => self.emit_event(config, rules.platform),
            Some("SHOW_ERROR") => self.message(config).map(show(MessageLevel::Error)),
            Some("SHOW_WARNING") => self.message(config).map(show(MessageLevel::Warning)),
            Some("SHOW_INFO") => self.message(config).map(show(MessageLevel::Info)),
            Some(BLOCK) => self.message(config).map(|message| Action::Block { message }),
            Some(ALLOW) => self.message(config).map(|message| Action::Allow { message }),
            Some("LOG") => self.log(config),
            Some(WEBHOOK) => self.webhook(config, rules.egress).map(Action::CallWebhook),
            Some("CALL_PLATFORM") => self.platform_call(config).map(Action::CallPlatform),
            _ => self.reject("type", "must be a known type of actions", "invalid_value"),
        }
    }

    fn text<'a>(&mut self, config: &'a Map<String, Value>, name: &str, longest: usize) -> Option<&'a str> {
        let path = format!("config.{name}");
        let message = match config.get(name) {
            None => return self.reject(&path, "is required", "required"),
            Some(Value::String(text)) if text.chars().count() <= longest => return Some(text),
            Some(Value::String(_)) => format!("must be at most {longest} characters"),
            Some(_) => return self.reject(&path, "must be a text", "invalid_type"),
        };
        self.reject(&path, message, "too_long")
    }

    fn optional<'a>(&mut self, config: &'a Map<String, Value>, name: &str, longest: usize) -> Option<&'a str> {
        match config.get(name) {
            None | Some(Value::Null) => None,
            Some(_) => self.text(config, name, longest),
        }
    }

    fn message(&mut self, config: &Map<String, Value>) -> Option<Template> {
        self.text(config, "message", LONGEST_MESSAGE).map(Template::parse)
    }

    fn word<'a>(&mut self, config: &'a Map<String, Value>, name: &str, words: &[&'a str]) -> Option<&'a str> {
        let first = words.first().copied();
        match config.get(name) {
            None | Some(Value::Null) => first,
            Some(Value::String(word)) if words.contains(&word.as_str()) => Some(word),
            Some(_) => {
                let message = format!("must be one of {}", words.join(", "));
                self.reject(&format!("config.{name}"), message, "invalid_value")
            }
        }
    }

    fn log(&mut self, config: &Map<String, Value>) -> Option<Action> {
        let message = self.message(config);
        let level = match self.word(config, "level", &["info", "warning", "warn", "error"])? {
            "error" => MessageLevel::Error,
            "info" => MessageLevel::Info,
            _ => MessageLevel::Warning,
        };
        Some(Action::Log {
            level,
            message: message?,
        })
    }

    fn notify(&mut self, config: &Map<String, Value>, rules: ActionRules<'_>) -> Option<Notify> {
        let message = self.message(config);
        let recipients = self.recipients(config);
        let subject = self.optional(config, "subject", LONGEST_SUBJECT).map(Template::parse);
        let severity = match self.word(config, "severity", &["info", "warning", "success", "error"]) {
            Some("warning") => Severity::Warning,
            Some("success") => Severity::Success,
            Some("error") => Severity::Error,
            _ => Severity::Info,
        };
        let link = self.link(config, rules);
        let push = match config.get("push") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(push)) => *push,
            Some(_) => self
                .reject("config.push", "must be true or false", "invalid_type")
                .unwrap_or_default(),
        };
        Some(Notify {
            message: message?,
            recipients: recipients?,
            subject,
            severity,
            link,
            push,
        })
    }

    /// Parses a link. Links of stored rules are checked when they run.
    fn link(&mut self, config: &Map<String, Value>, rules: ActionRules<'_>) -> Option<LinkTemplate> {
        let text = self.optional(config, "linkHref", LONGEST_LINK)?;
        let link = LinkTemplate::parse(text, rules.platform);
        if rules.egress.is_some() && !link.is_confined() {
            let console = rules.platform.app().console_path.trim_end_matches('/');
            let message = format!("must be a path below {console}/ or that of a page, without references before that");
            return self.reject("config.linkHref", message, "invalid_value");
        }
        Some(link)
    }

    fn recipients(&mut self, config: &Map<String, Value>) -> Option<Vec<Recipient>> {
        let path = "config.recipients";
        let Some(value) = config.get("recipients") else {
            return self.reject(path, "is required", "required");
        };
        let Some(items) = value.as_array() else {
            return self.reject(path, "must be a list of recipients", "invalid_type");
        };
        if items.is_empty() || items.len() > MOST_RECIPIENTS {
            let message = format!("must have 1 to {MOST_RECIPIENTS} recipients");
            return self.reject(path, message, "out_of_range");
        }
        let parsed: Vec<Option<Recipient>> = items.iter().map(|item| item.as_str().and_then(recipient)).collect();
        for (index, _) in parsed.iter().enumerate().filter(|(_, one)| one.is_none()) {
            let message = "must be the id or e-mail address of a user, or role:<name>";
            self.reject::<()>(&format!("{path}[{index}]"), message, "invalid_value");
        }
        parsed.into_iter().collect()
    }

    fn set_field(&mut self, config: &Map<String, Value>, rules: ActionRules<'_>) -> Option<Action> {
        if !rules.may_change {
            return self.reject("type", "is not for rules that validate a change", "invalid_value");
        }
        let value = match config.get("value") {
            None => self.reject("config.value", "is required", "required"),
            Some(value) => Some(value.clone()),
        };
        let field = self.text(config, "field", LONGEST_SUBJECT)?;
        let writable = rules.kind.filter(|kind| kind.write.is_some());
        if writable
            .and_then(|kind| kind.field(field))
            .is_none_or(|field| !field.writable)
        {
            let message = "must be a field of the entity type that rules may set";
            return self.reject("config.field", message, "invalid_value");
        }
        Some(Action::SetField {
            field: field.to_owned(),
            value: value?,
        })
    }

    fn webhook(&mut self, config: &Map<String, Value>, egress: Option<&Egress>) -> Option<Webhook> {
        let method = self.word(config, "method", &METHODS);
        let method = METHODS.into_iter().find(|known| Some(*known) == method);
        let url = self
            .text(config, "url", LONGEST_URL)
            .map(|url| UrlTemplate::parse(url, egress));
        let url = match url {
            Some(Err(message)) => self.reject("config.url", message, "invalid_value"),
            Some(Ok(url)) => Some(url),
            None => None,
        };
        let headers = match webhook::headers(config) {
            Err(message) => self.reject("config.headers", message, "invalid_value"),
            Ok(headers) => Some(headers),
        };
        let body = self.body(config)?;
        Some(Webhook {
            url: url?,
            method: method?,
            headers: headers?,
            body,
        })
    }

    fn platform_call(&mut self, config: &Map<String, Value>) -> Option<PlatformCall> {
        let endpoint = self.text(config, "endpoint", LONGEST_ENDPOINT);
        let endpoint = match endpoint.map(NamedEndpoint::parse) {
            Some(None) => {
                let message = "must be a path such as /customers/deals, with references in its query only";
                self.reject("config.endpoint", message, "invalid_value")
            }
            parsed => parsed.flatten(),
        };
        let named = endpoint.as_ref().and_then(|endpoint| endpoint.method);
        let method = match (config.get("method"), named) {
            (None | Some(Value::Null), Some(named)) => Some(named),
            (None | Some(Value::Null), None) => self.reject("config.method", "is required", "required"),
            (Some(given), named) => match given.as_str().and_then(method_of) {
                Some(given) if named.is_none_or(|named| named == given) => Some(given),
                _ => self.reject("config.method", "must be the method of the endpoint", "invalid_value"),
            },
        };
        let key = self.text(config, "apiKeyId", LONGEST_SUBJECT);
        let key = match key.map(str::parse::<Uuid>) {
            Some(Err(_)) => self.reject("config.apiKeyId", "must be the id of an API key", "invalid_value"),
            parsed => parsed.and_then(Result::ok),
        };
        let body = self.body(config)?;
        Some(endpoint?.call(method?, key?, body))
    }

    /// Returns the body of a request; nothing after a violated rule.
    #[expect(clippy::option_option, reason = "a request may have no body")]
    fn body(&mut self, config: &Map<String, Value>) -> Option<Option<Value>> {
        let body = config.get("body").filter(|body| !body.is_null()).cloned();
        if body.as_ref().is_some_and(|body| body.to_string().len() > LARGEST_BODY) {
            return self.reject("config.body", "must be at most 64 KiB of JSON", "too_long");
        }
        Some(body)
    }

    fn emit_event(&mut self, config: &Map<String, Value>, platform: &Platform) -> Option<Action> {
        let is_short = !config.contains_key("eventName") && config.contains_key("event");
        let name = if is_short { "event" } else { "eventName" };
        let event = self.text(config, name, LONGEST_EVENT);
        if event.is_some_and(|event| !is_event(event, platform)) {
            let message =
                "must be two to four names in lower case, joined by dots; the first one must not be that of a module";
            self.reject::<()>(&format!("config.{name}"), message, "invalid_value");
        }
        let payload = match config.get("payload") {
            None | Some(Value::Null) => json!({}),
            Some(payload @ Value::Object(_)) => payload.clone(),
            Some(_) => return self.reject("config.payload", "must be an object", "invalid_type"),
        };
        if payload.to_string().len() > LARGEST_PAYLOAD {
            return self.reject("config.payload", "must be at most 16 KiB of JSON", "too_long");
        }
        Some(Action::EmitEvent {
            name: event?.to_owned(),
            payload,
        })
    }
}

fn recipient(text: &str) -> Option<Recipient> {
    let text = text.trim();
    if let Some(role) = text.strip_prefix("role:") {
        let role = role.trim();
        return (!role.is_empty() && role.chars().count() <= 100).then(|| Recipient::Role(role.to_owned()));
    }
    let is_user = text.parse::<Uuid>().is_ok() || text.contains('@') || text.contains("{{");
    (is_user && text.chars().count() <= 254).then(|| Recipient::User(Template::parse(text)))
}

/// Whether rules may emit an event of this name.
fn is_event(name: &str, platform: &Platform) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_word = |part: &&str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    let first = parts.first().copied().unwrap_or_default();
    let mut modules = platform.modules().iter().map(|module| module.name.replace('-', "_"));
    (2..=4).contains(&parts.len()) && parts.iter().all(is_word) && first != "system" && !modules.any(|own| own == first)
}
