//! Reads of pipelines.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Eq, Filter, count_star};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::foreign::serves;
use crate::model::Pipeline;
use crate::schema::customers_pipelines as pipelines;

impl Sortable for Pipeline {
    const SORT_FIELDS: &'static [SortField] = &[SortField::new("name", "lower(customers_pipelines.name)")];
}

/// Pipelines of a tenant.
pub(crate) type OfTenant = Filter<pipelines::table, Eq<pipelines::tenant_id, Uuid>>;
/// Pipelines of the visible tenants, in the visible organizations.
pub(crate) type InScope =
    Filter<Filter<pipelines::table, Owned<pipelines::tenant_id>>, Within<pipelines::organization_id>>;

/// Returns every pipeline of a tenant, for the transaction of a command.
pub(crate) fn of_tenant(tenant: Uuid) -> OfTenant {
    pipelines::table.filter(pipelines::tenant_id.eq(tenant))
}

/// Returns the pipelines that the caller may change.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    pipelines::table
        .filter(scope.owns(pipelines::tenant_id))
        .filter(scope.within(pipelines::organization_id))
}

/// Returns the pipelines that are visible to the caller: those that serve one of the visible organizations.
pub(crate) fn seen<'a>(scope: &Scope) -> pipelines::BoxedQuery<'a, Pg> {
    pipelines::table
        .filter(scope.owns(pipelines::tenant_id))
        .into_boxed()
        .filter(serves::<pipelines::table>(scope, "customers_pipelines.organization_id"))
}

/// Returns a page of pipelines and their total: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    request: &ListRequest,
) -> Result<Page<Pipeline>> {
    let scope = ctx.scope();
    let window = request.window;
    let keys = request.order.then("customers_pipelines.id");
    let rows = async |start: Start| {
        let page = start
            .of::<pipelines::table, _>(filtered(scope, request))
            .order(keys.expression());
        start
            .limited(page.select(Pipeline::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = filtered(scope, request).select(count_star());
    let id = |row: &Pipeline| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the pipeline with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Pipeline>> {
    let statement = seen(scope).filter(pipelines::id.eq(id)).select(Pipeline::as_select());
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

fn filtered<'a>(scope: &Scope, request: &ListRequest) -> pipelines::BoxedQuery<'a, Pg> {
    let mut query = seen(scope);
    if let Some(pattern) = &request.pattern {
        query = query.filter(pipelines::name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(pipelines::id.one_of(ids.clone()));
    }
    query
}
