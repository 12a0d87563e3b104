//! Actions of rules: parsed and checked once.

mod link;
mod parse;
mod platform_call;
mod template;
mod webhook;

pub(crate) use link::LinkTemplate;
pub(crate) use parse::{ActionRules, parse_branch, too_deep};
pub(crate) use platform_call::PlatformCall;
pub(crate) use template::{Exceeded, Template, fill, json, json_object};
pub(crate) use webhook::{HeaderText, METHODS as WEBHOOK_METHODS, Webhook};

use serde_json::Value;

/// The type of actions that call webhooks.
pub(crate) const WEBHOOK: &str = "CALL_WEBHOOK";
/// The type of actions that disallow a change.
pub(crate) const BLOCK: &str = "BLOCK_TRANSITION";
/// The type of actions that lift the veto of their own rule.
pub(crate) const ALLOW: &str = "ALLOW_TRANSITION";
/// Longest text of a message, in characters.
pub(crate) const LONGEST_MESSAGE: usize = 2000;

/// An action.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    /// Notifies users.
    Notify(Notify),
    /// Sets a field of the record, by the update command of its module.
    SetField {
        /// The field.
        field: String,
        /// The value; texts in it may refer to values.
        value: Value,
    },
    /// Emits an event.
    EmitEvent {
        /// The name.
        name: String,
        /// The payload: an object; texts in it may refer to values.
        payload: Value,
    },
    /// Calls a webhook.
    CallWebhook(Webhook),
    /// Calls an endpoint of the platform.
    CallPlatform(PlatformCall),
    /// Shows a message to the caller.
    Show {
        /// How important it is.
        level: MessageLevel,
        /// The text.
        message: Template,
    },
    /// Writes a line into the log of the server.
    Log {
        /// How important it is.
        level: MessageLevel,
        /// The text.
        message: Template,
    },
    /// Disallows the change.
    Block {
        /// The reason.
        message: Template,
    },
    /// Lifts the veto of the false condition of its own rule.
    Allow {
        /// The reason.
        message: Template,
    },
}

/// What a notification says, and to whom.
#[derive(Debug, Clone)]
pub(crate) struct Notify {
    pub(crate) message: Template,
    pub(crate) recipients: Vec<Recipient>,
    pub(crate) subject: Option<Template>,
    pub(crate) severity: Severity,
    pub(crate) link: Option<LinkTemplate>,
    pub(crate) push: bool,
}

/// A recipient as the rule names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recipient {
    /// A user by id, or by a reference to an id or an e-mail address.
    User(Template),
    /// All users with a role.
    Role(String),
}

/// How important a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageLevel {
    Error,
    Warning,
    Info,
}

impl MessageLevel {
    /// All levels.
    pub(crate) const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Info];

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

/// How important a notification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Info,
    Warning,
    Success,
    Error,
}

impl Action {
    /// Returns the type, as clients write it.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Notify(_) => "NOTIFY",
            Self::SetField { .. } => "SET_FIELD",
            Self::EmitEvent { .. } => "EMIT_EVENT",
            Self::CallWebhook(_) => WEBHOOK,
            Self::CallPlatform(_) => "CALL_PLATFORM",
            Self::Show { level, .. } => match level {
                MessageLevel::Error => "SHOW_ERROR",
                MessageLevel::Warning => "SHOW_WARNING",
                MessageLevel::Info => "SHOW_INFO",
            },
            Self::Log { .. } => "LOG",
            Self::Block { .. } => BLOCK,
            Self::Allow { .. } => ALLOW,
        }
    }
}
