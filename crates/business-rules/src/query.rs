//! Reads. Every statement begins with a scope.

use backoffice_core::db::Prepared;
use backoffice_core::list::{ListRequest, Page, SortField, Sortable};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::Rule;
use crate::schema::business_rules_rules as rules;

impl Sortable for Rule {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "business_rules_rules.name"),
        SortField::time("createdAt", "business_rules_rules.created_at"),
    ];
}

type InScope = Filter<Filter<rules::table, Owned<rules::tenant_id>>, Within<rules::organization_id>>;

/// Returns the rules that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    rules::table
        .filter(scope.owns(rules::tenant_id))
        .filter(scope.within(rules::organization_id))
}

fn requested<'a>(scope: &Scope, request: &ListRequest) -> rules::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(rules::name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(rules::id.eq_any(ids.clone()));
    }
    query
}

/// Returns a page and the total number of rows, which is counted once for each version of the rules.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(connection: &AsyncPgConnection, ctx: &RequestContext, request: &ListRequest) -> Result<Page<Rule>> {
    let (window, scope) = (request.window, ctx.scope());
    let rows = requested(scope, request)
        .order(request.order.by("business_rules_rules.id"))
        .limit(window.limit())
        .offset(window.offset())
        .select(Rule::as_select());
    let total = requested(scope, request).select(count_star());
    let rows = Prepared(rows).load(&mut &*connection);
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
