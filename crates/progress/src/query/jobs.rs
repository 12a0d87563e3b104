//! Jobs that are visible to a caller.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Timestamp};
use diesel::dsl::{And, AsExprOf, Eq, Filter, IsNotDistinctFrom, Or, count_star};
use diesel::pg::Pg;
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, IntoSql, OptionalExtension, PgExpressionMethods, PgTextExpressionMethods,
    QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use time::Duration;
use uuid::Uuid;

use crate::acl;
use crate::model::{ProgressJob, Status};
use crate::schema::progress_jobs as jobs;

/// Maximum number of unfinished jobs in a response.
const MOST_ACTIVE: i64 = 50;
/// Maximum number of recently finished jobs in a response.
const MOST_RECENT: i64 = 10;
/// Time for which a job counts as recently finished.
const RECENTLY: Duration = Duration::seconds(30);

type Own = And<Eq<jobs::actor_kind, &'static str>, IsNotDistinctFrom<jobs::actor_id, Option<Uuid>>>;
type OfOthers = And<AsExprOf<bool, Bool>, Within<jobs::organization_id>>;
type Boxed<'a> = jobs::BoxedQuery<'a, Pg>;

/// The condition of [`seen_by`].
pub type Seen = And<Owned<jobs::tenant_id>, Or<Own, OfOthers>>;

/// Returns the condition for the jobs that the caller sees: their own jobs in every organization, and with `progress.view_tenant` the jobs of
/// their organizations. Every statement on jobs for a caller has this condition.
#[must_use]
pub fn seen_by(ctx: &RequestContext) -> Seen {
    let all = ctx.for_features(&[acl::VIEW_TENANT]);
    let of_others = all.as_ref().unwrap_or(ctx).scope().within(jobs::organization_id);
    let others = all.is_ok().into_sql::<Bool>().and(of_others);
    ctx.scope().owns(jobs::tenant_id).and(own(ctx).or(others))
}

fn own(ctx: &RequestContext) -> Own {
    let identity = ctx.identity();
    jobs::actor_kind
        .eq(identity.kind.as_str())
        .and(jobs::actor_id.is_not_distinct_from(identity.id))
}

/// Jobs that have not started or ended are last in the order of these times.
impl Sortable for ProgressJob {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "progress_jobs.created_at"),
        SortField::nullable_time("startedAt", "progress_jobs.started_at"),
        SortField::nullable_time("finishedAt", "progress_jobs.finished_at"),
    ];
}

/// Filters of jobs.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only the caller's own jobs.
    pub mine: bool,
    /// Any of these statuses.
    pub statuses: Option<Vec<Status>>,
    /// Any of these bulk commands.
    pub types: Option<Vec<String>>,
    /// Requested before this time.
    pub before: Option<Timestamp>,
    /// Requested after this time.
    pub after: Option<Timestamp>,
}

/// Returns a page of jobs and their total: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &JobFilter,
    request: &ListRequest,
) -> Result<Page<ProgressJob>> {
    let window = request.window;
    let keys = request.order.then("progress_jobs.id");
    let rows = async |start: Start| {
        let page = start
            .of::<jobs::table, _>(requested(ctx, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(ProgressJob::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = requested(ctx, filter, request).select(count_star());
    let id = |row: &ProgressJob| (row.tenant_id, row.id);
    let total = || Prepared(total).get_result::<i64>(&mut &*connection);
    window.fetch_from(ctx, connection, keys, id, rows, total).await
}

/// Returns the jobs that the caller sees. Every statement on jobs for a caller begins here.
pub(crate) fn in_scope(ctx: &RequestContext) -> Filter<jobs::table, Seen> {
    jobs::table.filter(seen_by(ctx))
}

fn requested<'a>(ctx: &RequestContext, filter: &JobFilter, request: &ListRequest) -> Boxed<'a> {
    let mut query = filtered(ctx, filter);
    if let Some(ids) = &request.ids {
        query = query.filter(jobs::id.one_of(ids.clone()));
    }
    if let Some(pattern) = &request.pattern {
        query = query.filter(jobs::name.ilike(pattern.clone()));
    }
    query
}

fn filtered<'a>(ctx: &RequestContext, filter: &JobFilter) -> Boxed<'a> {
    let mut query = in_scope(ctx).into_boxed();
    if filter.mine {
        query = query.filter(own(ctx));
    }
    if let Some(statuses) = &filter.statuses {
        let words: Vec<&'static str> = statuses.iter().map(|status| status.as_str()).collect();
        query = query.filter(jobs::status.eq_any(words));
    }
    if let Some(types) = &filter.types {
        query = query.filter(jobs::job_type.eq_any(types.clone()));
    }
    if let Some(before) = filter.before {
        query = query.filter(jobs::created_at.lt(before));
    }
    if let Some(after) = filter.after {
        query = query.filter(jobs::created_at.gt(after));
    }
    query
}

/// Returns unfinished jobs, the newest first, and recently finished jobs, the latest first: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn under_way(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    mine: bool,
) -> Result<(Vec<ProgressJob>, Vec<ProgressJob>)> {
    let filter = |statuses: Option<Vec<Status>>| JobFilter {
        mine,
        statuses,
        ..JobFilter::default()
    };
    let open = vec![Status::Pending, Status::Running];
    let active = filtered(ctx, &filter(Some(open)))
        .order((jobs::created_at.desc(), jobs::id.desc()))
        .limit(MOST_ACTIVE)
        .select(ProgressJob::as_select());
    let recent = filtered(ctx, &filter(None))
        .filter(jobs::finished_at.ge(ctx.now().before(RECENTLY)))
        .order((jobs::finished_at.desc(), jobs::id.desc()))
        .limit(MOST_RECENT)
        .select(ProgressJob::as_select());
    let active = Prepared(active).load::<ProgressJob>(&mut &*connection);
    let recent = Prepared(recent).load::<ProgressJob>(&mut &*connection);
    Ok(futures_util::future::try_join(active, recent).await?)
}

/// Returns the job with this id, if it is visible to the caller.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, ctx: &RequestContext, id: Uuid) -> Result<Option<ProgressJob>> {
    let job = in_scope(ctx).filter(jobs::id.eq(id)).select(ProgressJob::as_select());
    Ok(Prepared(job).get_result(&mut &*connection).await.optional()?)
}

/// Returns the parameters of a job.
///
/// # Errors
/// When the database can't be reached.
pub(crate) async fn parameters(connection: &AsyncPgConnection, job: &ProgressJob) -> Result<Value> {
    let parameters = jobs::table
        .filter(jobs::tenant_id.eq(job.tenant_id))
        .filter(jobs::id.eq(job.id))
        .select(jobs::parameters);
    Ok(Prepared(parameters).get_result(&mut &*connection).await?)
}
