//! Schemas of request fields, for the API document, where derived schemas would be too imprecise.

use backoffice_core::input::schema;

use crate::model::RULE_TYPES;

backoffice_core::text_schemas! {
    /// Key of a rule or set, or the kind of a record.
    BusinessRuleWord: schema::line(50);
    /// Name of a rule or set.
    BusinessRuleName: schema::line(200);
    /// Word that may be missing; a blank text is treated as null.
    BusinessRuleOptionalWord: schema::optional_line(50);
    /// Type of a rule.
    BusinessRuleType: schema::words(RULE_TYPES);
    /// Status of a webhook.
    BusinessRuleWebhookStatus: schema::words(["pending", "sent", "failed"]);
    /// Whether a rule is enabled.
    BusinessRuleEnabled: schema::words(["true", "false", "1", "0"]);
    /// Result of an execution.
    BusinessRuleResult: schema::words(["SUCCESS", "FAILURE", "ERROR"]);
}
