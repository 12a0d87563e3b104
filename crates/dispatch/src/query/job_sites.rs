//! Reads of job sites.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, IsNull, count_star};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgTextExpressionMethods,
    QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::{JOB_SITE, JobSite};
use crate::schema::dispatch_job_sites as job_sites;
use backoffice_calendar::Day;

impl Sortable for JobSite {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "dispatch_job_sites.name"),
        SortField::time("createdAt", "dispatch_job_sites.created_at"),
    ];
    const PAGE_SIZE: u32 = 20;
}

type InScope = Filter<
    Filter<Filter<job_sites::table, Owned<job_sites::tenant_id>>, Within<job_sites::organization_id>>,
    IsNull<job_sites::deleted_at>,
>;

/// Returns the job sites that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    job_sites::table
        .filter(scope.owns(job_sites::tenant_id))
        .filter(scope.within(job_sites::organization_id))
        .filter(job_sites::deleted_at.is_null())
}

/// The job sites that a list shows.
#[derive(Debug, Clone, Default)]
pub struct JobSiteFilter {
    /// Any of these states; `None` = all.
    pub statuses: Option<Vec<&'static str>>,
    /// Only sites with work on this day or later.
    pub from: Option<Day>,
    /// Only sites with work before this day.
    pub to: Option<Day>,
}

fn requested<'a>(scope: &Scope, filter: &JobSiteFilter, request: &ListRequest) -> job_sites::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        let by_code = job_sites::code.ilike(pattern.clone()).assume_not_null();
        query = query.filter(job_sites::name.ilike(pattern.clone()).or(by_code));
    }
    if let Some(found) = &request.found {
        query = query.filter(job_sites::id.eq_any(found.clone()));
    }
    if let Some(ids) = &request.ids {
        query = query.filter(job_sites::id.one_of(ids.clone()));
    }
    if let Some(statuses) = &filter.statuses {
        query = query.filter(job_sites::status.eq_any(statuses.clone()));
    }
    if let Some(from) = filter.from {
        let ends_later = job_sites::end_date_exclusive.gt(from).assume_not_null();
        query = query.filter(job_sites::end_date_exclusive.is_null().or(ends_later));
    }
    if let Some(to) = filter.to {
        let begins_before = job_sites::start_date.lt(to).assume_not_null();
        query = query.filter(job_sites::start_date.is_null().or(begins_before));
    }
    query
}

/// Returns a page of job sites and their total: two pipelined statements, and before them one for a search.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &JobSiteFilter,
    request: &ListRequest,
) -> Result<Page<JobSite>> {
    let request = &request.find_texts(ctx, connection, JOB_SITE).await?;
    let (window, scope) = (request.window, ctx.scope());
    let keys = request.order.then("dispatch_job_sites.id");
    let rows = async |start: Start| {
        let page = start
            .of::<job_sites::table, _>(requested(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(JobSite::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = requested(scope, filter, request).select(count_star());
    let id = |row: &JobSite| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
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
    Ok(Prepared(found).get_result(&mut &*connection).await.optional()?)
}
