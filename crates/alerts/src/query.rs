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

use crate::model::Alert;
use crate::schema::alerts_alerts as alerts;

impl Sortable for Alert {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "alerts_alerts.name"),
        SortField::time("createdAt", "alerts_alerts.created_at"),
    ];
}

type InScope = Filter<Filter<alerts::table, Owned<alerts::tenant_id>>, Within<alerts::organization_id>>;

/// Returns the alerts that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    alerts::table
        .filter(scope.owns(alerts::tenant_id))
        .filter(scope.within(alerts::organization_id))
}

fn requested<'a>(scope: &Scope, request: &ListRequest) -> alerts::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(alerts::name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(alerts::id.eq_any(ids.clone()));
    }
    query
}

/// Returns a page and the total number of rows, which is counted once for each version of the alerts.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(connection: &AsyncPgConnection, ctx: &RequestContext, request: &ListRequest) -> Result<Page<Alert>> {
    let (window, scope) = (request.window, ctx.scope());
    let rows = requested(scope, request)
        .order(request.order.by("alerts_alerts.id"))
        .limit(window.limit())
        .offset(window.offset())
        .select(Alert::as_select());
    let total = requested(scope, request).select(count_star());
    let rows = Prepared(rows).load(&mut &*connection);
    window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the alert with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Alert>> {
    let found = in_scope(scope).filter(alerts::id.eq(id)).select(Alert::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
