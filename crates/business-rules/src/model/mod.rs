//! Rows and entities.

mod member;
mod rule;
mod run;
mod set;
mod webhook_delivery;
mod webhook_secret;

pub use member::SetMember;
pub use rule::Rule;
pub use run::Run;
pub use set::RuleSet;
pub use webhook_delivery::WebhookDelivery;
pub(crate) use webhook_secret::SECRET as WEBHOOK_SECRET;
pub use webhook_secret::WebhookSecret;

/// Types of rules: the first two validate changes before they are committed, the others act after that.
pub const RULE_TYPES: [&str; 5] = ["GUARD", "VALIDATION", "CALCULATION", "ACTION", "ASSIGNMENT"];

/// Whether rules of this type validate changes.
#[must_use]
pub fn validates(rule_type: &str) -> bool {
    matches!(rule_type, "GUARD" | "VALIDATION")
}
