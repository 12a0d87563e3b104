//! Outcomes of executions.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::compiled::CompiledRule;
use crate::documented::{BusinessRuleMessageLevel, BusinessRuleRunErrorCode, BusinessRuleType};
use crate::engine::{RuleRun, RunError, RunOutcome, milliseconds};

/// The outcome of an execution.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleExecutionResult)]
pub(super) struct ExecutedRules {
    /// Whether the rules allow the change.
    allowed: bool,
    /// The rules that ran, in their order.
    executed_rules: Vec<ExecutedRule>,
    /// Duration in milliseconds.
    total_execution_time: f64,
    /// Messages of the rules.
    messages: Vec<ShownMessage>,
    /// Problems of the run as a whole.
    errors: Vec<ShownError>,
}

/// The outcome of a rule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleExecutedRule)]
struct ExecutedRule {
    /// The key.
    rule_id: String,
    /// The id.
    id: Uuid,
    /// The name.
    rule_name: String,
    /// The type.
    #[schema(value_type = BusinessRuleType)]
    rule_type: String,
    /// The value of the condition; false after an error.
    condition_result: bool,
    /// The executed actions: `success`, `results` and, of a dry run, `simulated`; null if the condition could not be evaluated.
    #[schema(required = true, value_type = Option<Object>)]
    actions_executed: Value,
    /// Duration in milliseconds.
    execution_time: f64,
    /// The reason of an error; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// Id in the log; null for a dry run.
    #[schema(required = true)]
    log_id: Option<Uuid>,
}

/// The outcome of one rule, executed by its id.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleExecutionOfOneResult)]
pub(super) struct ExecutedOne {
    /// Whether there was no error and all actions have succeeded.
    success: bool,
    /// The key.
    rule_id: String,
    /// The id.
    id: Uuid,
    /// The name.
    rule_name: String,
    /// The value of the condition; false after an error.
    condition_result: bool,
    /// The executed actions: `success`, `results` and, of a dry run, `simulated`; null if none were executed.
    #[schema(required = true, value_type = Option<Object>)]
    actions_executed: Value,
    /// Duration in milliseconds.
    execution_time: f64,
    /// Messages of the rule.
    messages: Vec<ShownMessage>,
    /// The reason of an error; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// Id in the log; null for a dry run.
    #[schema(required = true)]
    log_id: Option<Uuid>,
}

/// A message of a rule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleMessage)]
struct ShownMessage {
    /// `error`, `warning` or `info`.
    #[schema(value_type = BusinessRuleMessageLevel)]
    level: &'static str,
    /// The text.
    message: String,
    /// The key of the rule.
    rule_id: String,
}

/// A problem of a run.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleRunError)]
struct ShownError {
    /// The key of the rule that was not run; absent if the problem is not about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rule_id: Option<String>,
    /// `too_many_rules` or `not_run`.
    #[schema(value_type = BusinessRuleRunErrorCode)]
    code: &'static str,
}

fn shown_messages(run: &RuleRun) -> impl Iterator<Item = ShownMessage> {
    run.messages.iter().map(|message| ShownMessage {
        level: message.level.word(),
        message: message.text.clone(),
        rule_id: message.rule.clone(),
    })
}

impl ExecutedRules {
    pub(super) fn new(outcome: &RunOutcome, is_dry: bool) -> Self {
        let rule = |run: &RuleRun| ExecutedRule {
            rule_id: run.rule.key.clone(),
            id: run.rule.id,
            rule_name: run.rule.name.clone(),
            rule_type: run.rule.rule_type.clone(),
            condition_result: run.condition.unwrap_or(false),
            actions_executed: run.actions_executed(is_dry),
            execution_time: run.milliseconds(),
            error: run.error.clone(),
            log_id: (!is_dry).then_some(run.log_id),
        };
        let error = |one: &RunError| ShownError {
            rule_id: one.rule.clone(),
            code: one.code,
        };
        Self {
            allowed: outcome.allows(),
            executed_rules: outcome.runs.iter().map(rule).collect(),
            total_execution_time: milliseconds(outcome.elapsed),
            messages: outcome.runs.iter().flat_map(shown_messages).collect(),
            errors: outcome.errors.iter().map(error).collect(),
        }
    }
}

/// Returns the outcome of a rule that was not executed.
pub(super) fn not_executed(rule: &CompiledRule, reason: &str) -> ExecutedOne {
    ExecutedOne {
        success: false,
        rule_id: rule.key.clone(),
        id: rule.id,
        rule_name: rule.name.clone(),
        condition_result: false,
        actions_executed: Value::Null,
        execution_time: 0.0,
        messages: Vec::new(),
        error: Some(reason.to_owned()),
        log_id: None,
    }
}

/// Returns the outcome of one rule.
pub(super) fn one(rule: &CompiledRule, outcome: &RunOutcome, is_dry: bool) -> ExecutedOne {
    let Some(run) = outcome.runs.first() else {
        return not_executed(rule, "not_run");
    };
    ExecutedOne {
        success: run.has_succeeded(),
        condition_result: run.condition.unwrap_or(false),
        actions_executed: run.actions_executed(is_dry),
        execution_time: run.milliseconds(),
        messages: shown_messages(run).collect(),
        error: run.error.clone(),
        log_id: (!is_dry).then_some(run.log_id),
        ..not_executed(rule, "")
    }
}
