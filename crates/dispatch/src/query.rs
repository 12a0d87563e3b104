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

use crate::model::JobSite;
use crate::schema::dispatch_job_sites as job_sites;

impl Sortable for JobSite {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "dispatch_job_sites.name"),
        SortField::time("createdAt", "dispatch_job_sites.created_at"),
    ];
}

type InScope = Filter<Filter<job_sites::table, Owned<job_sites::tenant_id>>, Within<job_sites::organization_id>>;

/// Returns the job sites that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    job_sites::table
        .filter(scope.owns(job_sites::tenant_id))
        .filter(scope.within(job_sites::organization_id))
}

fn requested<'a>(scope: &Scope, request: &ListRequest) -> job_sites::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(job_sites::name.ilike(pattern.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(job_sites::id.eq_any(ids.clone()));
    }
    query
}

/// Returns a page and the total number of rows, which is counted once for each version of the job sites.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    request: &ListRequest,
) -> Result<Page<JobSite>> {
    let (window, scope) = (request.window, ctx.scope());
    let rows = requested(scope, request)
        .order(request.order.by("dispatch_job_sites.id"))
        .limit(window.limit())
        .offset(window.offset())
        .select(JobSite::as_select());
    let total = requested(scope, request).select(count_star());
    let rows = Prepared(rows).load(&mut &*connection);
    window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await
}

/// Returns the job site with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<JobSite>> {
    let found = in_scope(scope)
        .filter(job_sites::id.eq(id))
        .select(JobSite::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
