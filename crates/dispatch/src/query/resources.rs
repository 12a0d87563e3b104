//! Reads of resources.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Fragment, ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, IsNull, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Bool, Timestamptz};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgTextExpressionMethods,
    QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{RESOURCE, Resource};
use crate::schema::dispatch_resources as resources;

impl Sortable for Resource {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "dispatch_resources.name"),
        SortField::time("createdAt", "dispatch_resources.created_at"),
    ];
    const PAGE_SIZE: u32 = 20;
}

type InScope = Filter<
    Filter<Filter<resources::table, Owned<resources::tenant_id>>, Within<resources::organization_id>>,
    IsNull<resources::deleted_at>,
>;

/// Returns the resources that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    resources::table
        .filter(scope.owns(resources::tenant_id))
        .filter(scope.within(resources::organization_id))
        .filter(resources::deleted_at.is_null())
}

/// The resources that a list shows.
#[derive(Debug, Clone, Default)]
pub struct ResourceFilter {
    /// Any of these types; `None` = all.
    pub types: Option<Vec<&'static str>>,
    /// Only active or only inactive ones.
    pub is_active: Option<bool>,
    /// Only those without a live assignment and without an unavailability window from the first instant to before the second one.
    pub available: Option<(Timestamp, Timestamp)>,
}

/// Is true for resources that are free in an interval. Instants of both tables are bounded by the longest assignment and window, so each look-up
/// is a range of an index.
fn is_available((from, to): (Timestamp, Timestamp)) -> Fragment<resources::table, Bool> {
    let text = "not exists (select from dispatch_assignments a \
        where a.tenant_id = dispatch_resources.tenant_id and a.subject_type = dispatch_resources.type \
            and a.subject_id = dispatch_resources.id and a.status in ('planned', 'confirmed') and a.start_at < ";
    Box::new(
        sql::<Bool>(text)
            .bind::<Timestamptz, _>(to)
            .sql(" and a.start_at > ")
            .bind::<Timestamptz, _>(from)
            .sql(" - interval '367 days' and a.end_at > ")
            .bind::<Timestamptz, _>(from)
            .sql(
                ") and not exists (select from calendar_windows w \
                 where w.tenant_id = dispatch_resources.tenant_id and w.resource_type = dispatch_resources.type \
                    and w.resource_id = dispatch_resources.id and w.organization_id = dispatch_resources.organization_id \
                    and w.start_at < ",
            )
            .bind::<Timestamptz, _>(to)
            .sql(" and w.start_at > ")
            .bind::<Timestamptz, _>(from)
            .sql(" - interval '1098 days' and w.end_at > ")
            .bind::<Timestamptz, _>(from)
            .sql(")"),
    )
}

fn requested<'a>(scope: &Scope, filter: &ResourceFilter, request: &ListRequest) -> resources::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        let by_code = resources::code.ilike(pattern.clone()).assume_not_null();
        query = query.filter(resources::name.ilike(pattern.clone()).or(by_code));
    }
    if let Some(found) = &request.found {
        query = query.filter(resources::id.eq_any(found.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(resources::id.one_of(ids.clone()));
    }
    if let Some(types) = &filter.types {
        query = query.filter(resources::type_.eq_any(types.clone()));
    }
    if let Some(is_active) = filter.is_active {
        query = query.filter(resources::is_active.eq(is_active));
    }
    if let Some(interval) = filter.available {
        query = query.filter(is_available(interval));
    }
    query
}

/// Returns a page of resources and their total: two pipelined statements, and before them one for a search.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &ResourceFilter,
    request: &ListRequest,
) -> Result<Page<Resource>> {
    let request = &request.find_texts(ctx, connection, RESOURCE).await?;
    let (window, scope) = (request.window, ctx.scope());
    let keys = request.order.then("dispatch_resources.id");
    let rows = async |start: Start| {
        let page = start
            .of::<resources::table, _>(requested(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(Resource::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = requested(scope, filter, request).select(count_star());
    let id = |row: &Resource| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the resource with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Resource>> {
    let found = in_scope(scope)
        .filter(resources::id.eq(id))
        .select(Resource::as_select());
    Ok(Prepared(found).get_result(&mut &*connection).await.optional()?)
}
