//! Reads of stages.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, References, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Eq, Filter, count_star};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::foreign::serves;
use crate::model::Stage;
use crate::schema::customers_pipeline_stages as stages;

/// Filters of a list of stages.
#[derive(Debug, Clone, Default)]
pub struct StageFilter {
    /// Only stages of these pipelines.
    pub pipelines: Option<Vec<Uuid>>,
}

impl Sortable for Stage {
    const SORT_FIELDS: &'static [SortField] = &[SortField::new("position", "customers_pipeline_stages.position")];
}

/// Stages of a tenant.
pub(crate) type OfTenant = Filter<stages::table, Eq<stages::tenant_id, Uuid>>;
/// Stages of the visible tenants, in the visible organizations.
pub(crate) type InScope = Filter<Filter<stages::table, Owned<stages::tenant_id>>, Within<stages::organization_id>>;

/// Returns every stage of a tenant, for the transaction of a command.
pub(crate) fn of_tenant(tenant: Uuid) -> OfTenant {
    stages::table.filter(stages::tenant_id.eq(tenant))
}

/// Returns the stages that the caller may change.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    stages::table
        .filter(scope.owns(stages::tenant_id))
        .filter(scope.within(stages::organization_id))
}

/// Returns the stages that are visible to the caller: those of pipelines that serve one of the visible organizations.
pub(crate) fn seen<'a>(scope: &Scope) -> stages::BoxedQuery<'a, Pg> {
    stages::table
        .filter(scope.owns(stages::tenant_id))
        .into_boxed()
        .filter(serves::<stages::table>(
            scope,
            "customers_pipeline_stages.organization_id",
        ))
}

/// Returns a page of stages and their total: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &StageFilter,
    request: &ListRequest,
) -> Result<Page<Stage>> {
    let scope = ctx.scope();
    let window = request.window;
    let keys = request.order.then("customers_pipeline_stages.id");
    let rows = async |start: Start| {
        let page = start
            .of::<stages::table, _>(filtered(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(Stage::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = filtered(scope, filter, request).select(count_star());
    let id = |row: &Stage| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the stage with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Stage>> {
    let statement = seen(scope).filter(stages::id.eq(id)).select(Stage::as_select());
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

fn filtered<'a>(scope: &Scope, filter: &StageFilter, request: &ListRequest) -> stages::BoxedQuery<'a, Pg> {
    let mut query = seen(scope);
    if let Some(pattern) = &request.pattern {
        query = query.filter(stages::label.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(stages::id.one_of(ids.clone()));
    }
    if let Some(pipelines) = &filter.pipelines {
        query = query
            .filter(References::any_of(pipelines).condition::<stages::table>("customers_pipeline_stages.pipeline_id"));
    }
    query
}
