//! Bodies of requests for executions.

use backoffice_core::http::given;
use backoffice_core::input::{Input, Validator, rules as input_rules};
use backoffice_core::{Patch, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::documented::{BusinessRuleOptionalWord, BusinessRuleWord};

/// Largest data, in bytes of JSON.
const LARGEST_DATA: usize = 256 * 1024;

/// What rules are applied to.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleExecution)]
pub(super) struct ExecuteInput {
    /// Kind of the record, 1 to 50 characters.
    #[schema(value_type = BusinessRuleWord, required = true)]
    entity_type: Patch<String>,
    /// Id of the record: any text of at most 255 characters, which is logged as it is.
    #[schema(max_length = 255)]
    entity_id: Option<String>,
    /// The change, at most 50 characters; without it, rules of all changes apply.
    #[schema(value_type = Option<BusinessRuleOptionalWord>)]
    event_type: Option<String>,
    /// The data that conditions and texts refer to: any JSON of at most 256 KiB, by default an empty object.
    #[schema(value_type = Value)]
    data: Patch<Value>,
    /// Whether conditions are evaluated without executing actions; by default false. Nothing is written, sent or logged then; the results of actions report
    /// a record that does not exist or is not visible, and a notification without recipients.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = bool)]
    dry_run: Option<bool>,
}

/// What one rule is applied to.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = BusinessRuleExecutionOfOne)]
pub(super) struct ExecuteOneInput {
    /// Kind of the record, by default that of the rule.
    #[schema(value_type = BusinessRuleWord)]
    entity_type: Patch<String>,
    /// Id of the record: any text of at most 255 characters, which is logged as it is.
    #[schema(max_length = 255)]
    entity_id: Option<String>,
    /// The change, at most 50 characters.
    #[schema(value_type = Option<BusinessRuleOptionalWord>)]
    event_type: Option<String>,
    /// The data that conditions and texts refer to: any JSON of at most 256 KiB, by default an empty object.
    #[schema(value_type = Value)]
    data: Patch<Value>,
    /// Whether the condition is evaluated without executing actions; by default false.
    #[serde(deserialize_with = "given")]
    #[schema(value_type = bool)]
    dry_run: Option<bool>,
}

impl From<ExecuteOneInput> for ExecuteInput {
    fn from(one: ExecuteOneInput) -> Self {
        Self {
            entity_type: one.entity_type,
            entity_id: one.entity_id,
            event_type: one.event_type,
            data: one.data,
            dry_run: one.dry_run,
        }
    }
}

impl Input for ExecuteInput {
    fn require(&self, validator: &mut Validator) {
        validator.require("entityType", &self.entity_type);
    }

    fn validate(&self, validator: &mut Validator) {
        validate(self, validator);
    }
}

impl Input for ExecuteOneInput {
    fn validate(&self, validator: &mut Validator) {
        let input = Self {
            entity_type: self.entity_type.clone(),
            entity_id: self.entity_id.clone(),
            event_type: self.event_type.clone(),
            data: self.data.clone(),
            dry_run: self.dry_run,
        };
        validate(&input.into(), validator);
    }
}

fn validate(input: &ExecuteInput, validator: &mut Validator) {
    validator.text(
        "entityType",
        &input.entity_type,
        &mut String::new(),
        input_rules::line(50),
    );
    let optional = |text: &Option<String>| text.clone().map_or(Patch::Keep, Patch::Set);
    // Any text is logged as it was given.
    if let Some(id) = &input.entity_id {
        validator.accept("entityId", input_rules::text(255)(id));
    }
    validator.optional_text(
        "eventType",
        &optional(&input.event_type),
        &mut None,
        input_rules::line(50),
    );
    if let Patch::Set(data) = &input.data
        && data.to_string().len() > LARGEST_DATA
    {
        validator.reject("data", "must be at most 256 KiB of JSON", "too_long");
    }
}

/// Validates a body.
///
/// # Errors
/// 400 with all violated rules.
pub(super) fn check(input: &impl Input) -> Result<()> {
    let mut validator = Validator::default();
    input.validate_new(&mut validator);
    validator.check()
}

/// A validated request.
pub(super) struct ExecutionRequest {
    pub(super) entity_type: String,
    pub(super) entity_id: Option<String>,
    pub(super) event_type: Option<String>,
    pub(super) data: Value,
    pub(super) is_dry: bool,
}

impl From<ExecuteInput> for ExecutionRequest {
    fn from(input: ExecuteInput) -> Self {
        let trimmed = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            entity_type: input.entity_type.value().unwrap_or_default().trim().to_owned(),
            entity_id: input.entity_id,
            event_type: trimmed(input.event_type),
            data: match input.data {
                Patch::Keep => json!({}),
                Patch::Clear => Value::Null,
                Patch::Set(data) => data,
            },
            is_dry: input.dry_run.unwrap_or(false),
        }
    }
}
