//! The log of executions.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{Kept, MonthlyTable, RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use crate::config::RulesConfig;
use crate::engine::settle::LOG;
use crate::schema::business_rules_execution_logs as logs;

/// The log, one partition for each month.
pub(crate) const TABLE: MonthlyTable = MonthlyTable {
    name: "business_rules_execution_logs",
    kind: LOG,
    kept: |config| {
        let rules: RulesConfig = config.section("business_rules")?;
        Ok(Kept::Time(rules.checked()?.log_retention))
    },
};

/// An execution of a rule.
#[derive(Debug, Clone, Queryable, Selectable, Insertable)]
#[diesel(table_name = logs, treat_none_as_default_value = false, check_for_backend(Pg))]
pub struct LogRow {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization of the rule; `None` for the whole tenant.
    pub organization_id: Option<Uuid>,
    /// The run that the execution is a part of.
    pub run_id: Uuid,
    /// The rule.
    pub rule_id: Uuid,
    /// The key of the rule at that time.
    pub rule_key: String,
    /// The name of the rule at that time.
    pub rule_name: String,
    /// The type of the rule at that time.
    pub rule_type: String,
    /// Kind of the record.
    pub entity_type: String,
    /// Id of the record, as it was given; the nil UUID if none was.
    pub entity_id: String,
    /// `SUCCESS` for a true condition, `FAILURE` for a false one, or `ERROR`.
    pub execution_result: String,
    /// What the rule was applied to, without secrets.
    pub input_context: Option<Value>,
    /// What the rule did, without secrets.
    pub output_context: Option<Value>,
    /// The reason of an error.
    pub error_message: Option<String>,
    /// Duration in milliseconds.
    pub execution_time_ms: i32,
    /// Time of the execution.
    pub executed_at: Timestamp,
    /// The user in whose request the rule ran; `None` for events and API keys.
    pub executed_by: Option<Uuid>,
    /// `api`, `set`, `guard` or `event`.
    pub trigger: String,
    /// Time of the execution.
    pub created_at: Timestamp,
    /// Time of the execution.
    pub updated_at: Timestamp,
}

impl Sortable for LogRow {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("executedAt", "business_rules_execution_logs.executed_at"),
        SortField::new("id", "business_rules_execution_logs.id"),
        SortField::new("ruleId", "business_rules_execution_logs.rule_id"),
        SortField::new("entityType", "business_rules_execution_logs.entity_type"),
        SortField::new("executionResult", "business_rules_execution_logs.execution_result"),
        SortField::new("executionTimeMs", "business_rules_execution_logs.execution_time_ms"),
    ];
    const SEARCHES: bool = false;
}

/// The filter of the log.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// Only executions of this rule.
    pub rule: Option<Uuid>,
    /// Only executions for this record.
    pub entity_id: Option<String>,
    /// Only executions for this kind of records.
    pub entity_type: Option<String>,
    /// Only this result.
    pub result: Option<String>,
    /// Only executions by this user.
    pub executed_by: Option<Uuid>,
    /// Only executions at this time or later.
    pub from: Option<Timestamp>,
    /// Only executions at this time or before.
    pub to: Option<Timestamp>,
}

type InScope = Filter<Filter<logs::table, Owned<logs::tenant_id>>, Within<logs::organization_id>>;

/// Returns the executions that are visible to the caller: those of rules of the whole tenant only without organization limits.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    logs::table
        .filter(scope.owns(logs::tenant_id))
        .filter(scope.within(logs::organization_id))
}

fn requested<'a>(scope: &Scope, filter: &LogFilter, request: &ListRequest) -> logs::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(ids) = &request.ids {
        query = query.filter(logs::id.one_of(ids.clone()));
        // A range excludes months when the statement runs; an array, which is then only known, does not.
        if let (Some(first), Some(last)) = (ids.iter().min(), ids.iter().max()) {
            query = query.filter(logs::id.between(*first, *last));
        }
    }
    if let Some(rule) = filter.rule {
        query = query.filter(logs::rule_id.eq(rule));
    }
    if let Some(id) = &filter.entity_id {
        query = query.filter(logs::entity_id.eq(id.clone()));
    }
    if let Some(kind) = &filter.entity_type {
        query = query.filter(logs::entity_type.eq(kind.clone()));
    }
    if let Some(result) = &filter.result {
        query = query.filter(logs::execution_result.eq(result.clone()));
    }
    if let Some(user) = filter.executed_by {
        query = query.filter(logs::executed_by.eq(user));
    }
    if let Some(from) = filter.from {
        query = query.filter(logs::executed_at.ge(from));
    }
    if let Some(to) = filter.to {
        query = query.filter(logs::executed_at.le(to));
    }
    query
}

/// Returns a page and the total number of executions, which is counted once for each version of the log.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &LogFilter,
    request: &ListRequest,
) -> Result<Page<LogRow>> {
    let (window, scope) = (request.window, ctx.scope());
    let keys = request.order.then("business_rules_execution_logs.id");
    let rows = async |start: Start| {
        let page = start
            .of::<logs::table, _>(requested(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(LogRow::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = requested(scope, filter, request).select(count_star());
    let id = |row: &LogRow| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the execution with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<LogRow>> {
    let found = in_scope(scope).filter(logs::id.eq(id)).select(LogRow::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
