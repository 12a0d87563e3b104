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

use crate::model::Window;
use crate::schema::calendar_windows as windows;

impl Sortable for Window {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "calendar_windows.name"),
        SortField::time("createdAt", "calendar_windows.created_at"),
    ];
}

type InScope = Filter<Filter<windows::table, Owned<windows::tenant_id>>, Within<windows::organization_id>>;

/// Returns the windows that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    windows::table
        .filter(scope.owns(windows::tenant_id))
        .filter(scope.within(windows::organization_id))
}

fn requested<'a>(scope: &Scope, request: &ListRequest) -> windows::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(windows::name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(windows::id.eq_any(ids.clone()));
    }
    query
}

/// Returns a page and the total number of rows, which is counted once for each version of the windows.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(connection: &AsyncPgConnection, ctx: &RequestContext, request: &ListRequest) -> Result<Page<Window>> {
    let (window, scope) = (request.window, ctx.scope());
    let rows = requested(scope, request)
        .order(request.order.by("calendar_windows.id"))
        .limit(window.limit())
        .offset(window.offset())
        .select(Window::as_select());
    let total = requested(scope, request).select(count_star());
    let rows = Prepared(rows).load(&mut &*connection);
    window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the window with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Window>> {
    let found = in_scope(scope).filter(windows::id.eq(id)).select(Window::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
