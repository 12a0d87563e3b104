//! Endpoints of the log of executions.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{CheckedQuery, Id, Json, Path, QueryInput, Routes, given, requires};
use backoffice_core::input::Bounded;
use backoffice_core::list::{InstantOrDate, ListQuery, Page, instant};
use backoffice_core::{Detail, Rejection, RequestContext, Result, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::documented::{BusinessRuleResult, BusinessRuleTrigger, BusinessRuleType, RESULTS};
use crate::engine::settle::LOG;
use crate::query::logs::{self as query, LogFilter, LogRow};

/// Largest contexts of a page, in bytes of JSON; those of further items are left out.
const LARGEST_PAGE: usize = 4 * 1024 * 1024;

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/business_rules/logs", "/business_rules/logs/{id}");
    routes
        .get(path, requires(&[acl::VIEW_LOGS]), list_business_rule_logs)
        .shows(&[LOG])
        .reads(LOG)
        .about("List executions of rules, the latest first");
    routes
        .get(one, requires(&[acl::VIEW_LOGS]), get_business_rule_log)
        .shows(&[LOG])
        .reads(LOG)
        .about("An execution of a rule")
        .rejects(&[404]);
}

/// Parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct LogQuery {
    /// Only executions of the rule with this id.
    #[serde(default, deserialize_with = "given")]
    rule_id: Option<Uuid>,
    /// Only executions for the record with this id.
    #[param(value_type = Option<String>, max_length = 255)]
    entity_id: Option<Bounded<String, 0, 255>>,
    /// Only executions for this kind of records.
    #[param(value_type = Option<String>, max_length = 50)]
    entity_type: Option<Bounded<String, 0, 50>>,
    /// Only this result.
    #[param(value_type = Option<BusinessRuleResult>, inline)]
    execution_result: Option<String>,
    /// Only executions by this user.
    #[serde(default, deserialize_with = "given")]
    executed_by: Option<Uuid>,
    /// Only executions at this time or later.
    #[param(value_type = Option<InstantOrDate>, inline)]
    executed_at_from: Option<String>,
    /// Only executions at this time or before; a date includes the whole day.
    #[param(value_type = Option<InstantOrDate>, inline)]
    executed_at_to: Option<String>,
}

impl LogQuery {
    fn filter(&self, violations: &mut Violations) -> LogFilter {
        if self
            .execution_result
            .as_deref()
            .is_some_and(|one| !RESULTS.contains(&one))
        {
            let message = format!("must be one of {}", RESULTS.join(", "));
            violations.add(Detail::new("executionResult", message, "invalid_value"));
        }
        LogFilter {
            rule: self.rule_id,
            entity_id: self.entity_id.as_ref().map(|one| one.0.clone()),
            entity_type: self.entity_type.as_ref().map(|one| one.0.clone()),
            result: self.execution_result.clone(),
            executed_by: self.executed_by,
            from: violations.keep(instant("executedAtFrom", self.executed_at_from.as_deref(), false)),
            to: violations.keep(instant("executedAtTo", self.executed_at_to.as_deref(), true)),
        }
    }
}

impl QueryInput for LogQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

/// An execution of a rule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleLogItem)]
struct LogItem {
    /// The id.
    id: Uuid,
    /// The id of the rule.
    rule_id: Uuid,
    /// The key of the rule at that time.
    rule_key: String,
    /// The name of the rule at that time.
    rule_name: String,
    /// The type of the rule at that time.
    #[schema(value_type = BusinessRuleType)]
    rule_type: String,
    #[serde(flatten)]
    execution: LoggedExecution,
    /// `true` if the contexts were left out, because the page would be too long, otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// What an execution did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleLogExecution)]
struct LoggedExecution {
    /// The run that the execution was a part of.
    run_id: Uuid,
    /// Kind of the record; the set is open.
    entity_type: String,
    /// Id of the record, as it was given; the nil UUID if none was.
    entity_id: String,
    /// `SUCCESS` for a true condition, `FAILURE` for a false one, or `ERROR`.
    #[schema(value_type = BusinessRuleResult)]
    execution_result: String,
    /// What the rule was applied to, without secrets.
    #[schema(required = true, value_type = Option<Object>)]
    input_context: Option<Value>,
    /// What the rule did, without secrets.
    #[schema(required = true, value_type = Option<Object>)]
    output_context: Option<Value>,
    /// The reason of an error.
    #[schema(required = true)]
    error_message: Option<String>,
    /// Duration in milliseconds.
    execution_time_ms: i32,
    /// Time of the execution.
    executed_at: Timestamp,
    /// The tenant.
    tenant_id: Uuid,
    /// The organization of the rule; null for the whole tenant.
    #[schema(required = true)]
    organization_id: Option<Uuid>,
    /// The user in whose request the rule ran; null for events and API keys.
    #[schema(required = true)]
    executed_by: Option<Uuid>,
    /// `api`, `set`, `guard` or `event`.
    #[schema(value_type = BusinessRuleTrigger)]
    trigger: String,
}

/// An execution with its rule.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleLogDetail)]
struct LogDetail {
    /// The id.
    id: Uuid,
    /// The id of the rule.
    rule_id: Uuid,
    /// The name of the rule at that time.
    rule_name: String,
    /// The type of the rule at that time.
    #[schema(value_type = BusinessRuleType)]
    rule_type: String,
    #[serde(flatten)]
    execution: LoggedExecution,
    /// The rule at that time.
    rule: LoggedRule,
}

/// A rule as it was when it ran.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleLogRule)]
struct LoggedRule {
    /// The id.
    id: Uuid,
    /// The key.
    rule_id: String,
    /// The name.
    rule_name: String,
    /// The type.
    #[schema(value_type = BusinessRuleType)]
    rule_type: String,
    /// The kind of records to which it applied; the set is open.
    entity_type: String,
}

impl From<LogRow> for LoggedExecution {
    fn from(row: LogRow) -> Self {
        Self {
            run_id: row.run_id,
            entity_type: row.entity_type,
            entity_id: row.entity_id,
            execution_result: row.execution_result,
            input_context: row.input_context,
            output_context: row.output_context,
            error_message: row.error_message,
            execution_time_ms: row.execution_time_ms,
            executed_at: row.executed_at,
            tenant_id: row.tenant_id,
            organization_id: row.organization_id,
            executed_by: row.executed_by,
            trigger: row.trigger,
        }
    }
}

fn items(rows: Vec<LogRow>) -> Vec<LogItem> {
    let mut left = LARGEST_PAGE;
    let mut item = |mut row: LogRow| {
        let contexts = [&row.input_context, &row.output_context];
        let length: usize = contexts.into_iter().flatten().map(|one| one.to_string().len()).sum();
        let truncated = length > left;
        left = left.saturating_sub(length);
        if truncated {
            (row.input_context, row.output_context) = (None, None);
        }
        LogItem {
            id: row.id,
            rule_id: row.rule_id,
            rule_key: row.rule_key.clone(),
            rule_name: row.rule_name.clone(),
            rule_type: row.rule_type.clone(),
            execution: row.into(),
            truncated,
        }
    };
    rows.into_iter().map(&mut item).collect()
}

async fn list_business_rule_logs(
    ctx: RequestContext,
    list: ListQuery<LogRow>,
    query: CheckedQuery<LogQuery>,
) -> Result<Json<Page<LogItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::list(&connection, &ctx, &filter, &request).await?;
    let page = page.map_items(items);
    let record =
        |item: &LogItem| Record::new(item.id, Some(item.execution.tenant_id)).of(item.execution.organization_id);
    ctx.log_reads(&connection, AccessType::List, &page.items, record)
        .await?;
    Ok(Json(page))
}

async fn get_business_rule_log(ctx: RequestContext, path: Path<Id>) -> Result<Json<LogDetail>> {
    let connection = ctx.read().await?;
    let found = query::find(&connection, ctx.scope(), path.0.id).await?;
    let row = found.ok_or_else(|| Rejection::not_found("Log not found"))?;
    let detail = LogDetail {
        id: row.id,
        rule_id: row.rule_id,
        rule_name: row.rule_name.clone(),
        rule_type: row.rule_type.clone(),
        rule: LoggedRule {
            id: row.rule_id,
            rule_id: row.rule_key.clone(),
            rule_name: row.rule_name.clone(),
            rule_type: row.rule_type.clone(),
            entity_type: row.entity_type.clone(),
        },
        execution: row.into(),
    };
    let record =
        |item: &LogDetail| Record::new(item.id, Some(item.execution.tenant_id)).of(item.execution.organization_id);
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&detail), record)
        .await?;
    Ok(Json(detail))
}
