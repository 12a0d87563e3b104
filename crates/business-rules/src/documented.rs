//! Schemas of values, for the API document, where derived schemas would be too imprecise.

use backoffice_core::input::schema;
use backoffice_core::records::FieldType;

use crate::action::{MessageLevel, WEBHOOK_METHODS};
use crate::engine::{RUN_ERRORS, Trigger};
use crate::model::RULE_TYPES;
use crate::platform_calls::METHODS as CALL_METHODS;

/// The results of executions.
pub(crate) const RESULTS: [&str; 3] = ["SUCCESS", "FAILURE", "ERROR"];

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
    /// Method of a webhook.
    BusinessRuleWebhookMethod: schema::words(WEBHOOK_METHODS);
    /// Method of an endpoint that rules may call.
    BusinessRuleCallMethod: schema::words(CALL_METHODS);
    /// Whether a rule is enabled.
    BusinessRuleEnabled: schema::words(["true", "false", "1", "0"]);
    /// Result of an execution.
    BusinessRuleResult: schema::words(RESULTS);
    /// The way in which an execution was started.
    BusinessRuleTrigger: schema::words(Trigger::ALL.map(Trigger::word));
    /// How important a message is.
    BusinessRuleMessageLevel: schema::words(MessageLevel::ALL.map(MessageLevel::word));
    /// Why rules were not run.
    BusinessRuleRunErrorCode: schema::words(RUN_ERRORS);
    /// Type of a field.
    BusinessRuleFieldType: schema::words(FieldType::ALL.map(FieldType::as_str));
}
