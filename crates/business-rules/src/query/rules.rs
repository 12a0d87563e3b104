//! Rules.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{
    ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::documented::BusinessRuleType;
use crate::model::Rule;
use crate::schema::business_rules_rules as rules;

/// A rule of the list: without its condition and actions.
#[derive(Debug, Clone, Queryable, Selectable, Serialize, ToSchema)]
#[diesel(table_name = rules, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleItem)]
pub struct RuleItem {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization to whose records the rule applies, with those below; null for the whole tenant.
    #[schema(required = true)]
    pub organization_id: Option<Uuid>,
    /// The key, unique in the tenant.
    #[serde(rename = "ruleId")]
    pub rule_key: String,
    /// The name.
    pub rule_name: String,
    /// What the rule is for.
    #[schema(required = true)]
    pub description: Option<String>,
    /// `GUARD`, `VALIDATION`, `CALCULATION`, `ACTION` or `ASSIGNMENT`.
    #[schema(value_type = BusinessRuleType)]
    pub rule_type: String,
    /// A word by which rules are grouped.
    #[schema(required = true)]
    pub rule_category: Option<String>,
    /// The kind of records to which the rule applies. Modules define the kinds: the set is open.
    pub entity_type: String,
    /// The change to which the rule applies; null for every change. Modules define further ones: the set is open.
    #[schema(required = true)]
    pub event_type: Option<String>,
    /// Whether the rule applies at all.
    pub enabled: bool,
    /// Rules of a higher priority run first.
    pub priority: i32,
    /// Number of changes of the rule, from 1.
    pub version: i32,
    /// The instant from which the rule applies.
    #[schema(required = true)]
    pub effective_from: Option<Timestamp>,
    /// The instant until which the rule applies.
    #[schema(required = true)]
    pub effective_to: Option<Timestamp>,
    /// The features with which the effects of the rule act.
    pub effect_features: Vec<String>,
    /// The user who has created the rule.
    #[schema(required = true)]
    pub created_by: Option<Uuid>,
    /// The user who has changed the rule last.
    #[schema(required = true)]
    pub updated_by: Option<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Ends the orders of the list.
const LAST: &str = "business_rules_rules.rule_key, business_rules_rules.id";

impl Sortable for RuleItem {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField {
            descending: true,
            ..SortField::new("priority", "business_rules_rules.priority")
        },
        SortField::new("ruleId", "business_rules_rules.rule_key"),
        SortField::new("ruleName", "business_rules_rules.rule_name"),
        SortField::new("ruleType", "business_rules_rules.rule_type"),
        SortField::new("entityType", "business_rules_rules.entity_type"),
        SortField::time("createdAt", "business_rules_rules.created_at"),
        SortField::time("updatedAt", "business_rules_rules.updated_at"),
    ];
}

/// The filter of the list.
#[derive(Debug, Clone, Default)]
pub struct RuleFilter {
    /// Only the rule with this key.
    pub rule_key: Option<String>,
    /// Only this type.
    pub rule_type: Option<String>,
    /// Only this category.
    pub rule_category: Option<String>,
    /// Only this kind of records.
    pub entity_type: Option<String>,
    /// Only this change.
    pub event_type: Option<String>,
    /// Only enabled or disabled rules.
    pub enabled: Option<bool>,
}

type InScope = Filter<Filter<rules::table, Owned<rules::tenant_id>>, Within<rules::organization_id>>;

/// Returns the rules that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    rules::table
        .filter(scope.owns(rules::tenant_id))
        .filter(scope.within(rules::organization_id))
}

fn requested<'a>(scope: &Scope, filter: &RuleFilter, request: &ListRequest) -> rules::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(rules::rule_name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(rules::id.one_of(ids.clone()));
    }
    if let Some(key) = &filter.rule_key {
        query = query.filter(rules::rule_key.eq(key.clone()));
    }
    if let Some(rule_type) = &filter.rule_type {
        query = query.filter(rules::rule_type.eq(rule_type.clone()));
    }
    if let Some(category) = &filter.rule_category {
        query = query.filter(rules::rule_category.eq(category.clone()));
    }
    if let Some(kind) = &filter.entity_type {
        query = query.filter(rules::entity_type.eq(kind.clone()));
    }
    if let Some(event) = &filter.event_type {
        query = query.filter(rules::event_type.eq(event.clone()));
    }
    if let Some(enabled) = filter.enabled {
        query = query.filter(rules::enabled.eq(enabled));
    }
    query
}

/// Returns a page and the total number of rules, which is counted once for each version of the rules.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &RuleFilter,
    request: &ListRequest,
) -> Result<Page<RuleItem>> {
    let (window, scope) = (request.window, ctx.scope());
    let rows = requested(scope, filter, request)
        .order(request.order.by(LAST))
        .select(RuleItem::as_select());
    let total = requested(scope, filter, request).select(count_star());
    let rows = window.limited(rows).load(&mut &*connection);
    window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the rule with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Rule>> {
    let found = in_scope(scope).filter(rules::id.eq(id)).select(Rule::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
