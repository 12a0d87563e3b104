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

use crate::model::User;
use crate::schema::access_users as users;

impl Sortable for User {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "access_users.name"),
        SortField::time("createdAt", "access_users.created_at"),
    ];
}

type InScope = Filter<Filter<users::table, Owned<users::tenant_id>>, Within<users::organization_id>>;

/// Returns the users that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    users::table
        .filter(scope.owns(users::tenant_id))
        .filter(scope.within(users::organization_id))
}

fn requested<'a>(scope: &Scope, request: &ListRequest) -> users::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(users::name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(users::id.eq_any(ids.clone()));
    }
    query
}

/// Returns a page and the total number of rows, which is counted once for each version of the users.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(connection: &AsyncPgConnection, ctx: &RequestContext, request: &ListRequest) -> Result<Page<User>> {
    let (window, scope) = (request.window, ctx.scope());
    let rows = requested(scope, request)
        .order(request.order.by("access_users.id"))
        .limit(window.limit())
        .offset(window.offset())
        .select(User::as_select());
    let total = requested(scope, request).select(count_star());
    let rows = Prepared(rows).load(&mut &*connection);
    window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the user with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<User>> {
    let found = in_scope(scope).filter(users::id.eq(id)).select(User::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
