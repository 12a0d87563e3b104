//! The list of jobs.

use backoffice_core::http::{Json, Query};
use backoffice_core::list::{ById, CommaList, Page, PageQuery, search_pattern};
use backoffice_core::{RequestContext, Result, Timestamp, Violations};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::job_item::JobItem;
use super::words::Statuses;
use crate::model::Status;
use crate::query::jobs::{self, JobFilter, JobSort};

/// Parameters of the list of jobs.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct JobQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows per page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Any of these statuses: comma list or repeated.
    #[param(value_type = Option<Vec<Statuses>>, inline)]
    status: Option<Vec<String>>,
    /// Any of these bulk commands: comma list or repeated, at most 200.
    job_type: Option<Vec<String>>,
    /// Only the caller's own jobs. Default false.
    mine: Option<bool>,
    /// Substring of the name.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Requested before this time.
    before: Option<Timestamp>,
    /// Requested after this time.
    after: Option<Timestamp>,
    /// `createdAt` (default), `startedAt` or `finishedAt`.
    #[param(inline)]
    sort_field: Option<SortField>,
    /// `desc` (default) or `asc`.
    #[param(inline)]
    sort_dir: Option<SortDirection>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
enum SortField {
    #[serde(rename = "createdAt")]
    Created,
    #[serde(rename = "startedAt")]
    Started,
    #[serde(rename = "finishedAt")]
    Finished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum SortDirection {
    Asc,
    Desc,
}

pub(super) async fn list_jobs(
    ctx: RequestContext,
    query: Query<JobQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<JobItem>>> {
    let query = query.0;
    let statuses = query.status.as_ref().map(|lists| {
        let lists = lists.iter().map(String::as_str);
        CommaList::new("status").parsed(lists, "must be statuses of jobs", Status::parse)
    });
    let types = query.job_type.as_ref().map(|lists| {
        let lists = lists.iter().map(String::as_str);
        CommaList::new("jobType").texts(lists)
    });
    let mut violations = Violations::default();
    let window = violations.keep(PageQuery::new(query.page, query.page_size).window());
    let filter = JobFilter {
        ids: violations.keep(by_id.0.requested()),
        mine: query.mine.unwrap_or(false),
        statuses: violations.keep(statuses.transpose()),
        types: violations.keep(types.transpose()),
        name: violations.keep(search_pattern(query.search.as_deref())),
        before: query.before,
        after: query.after,
        sort: match query.sort_field {
            None | Some(SortField::Created) => JobSort::Created,
            Some(SortField::Started) => JobSort::Started,
            Some(SortField::Finished) => JobSort::Finished,
        },
        descending: query.sort_dir != Some(SortDirection::Asc),
    };
    violations.check()?;
    let connection = ctx.read().await?;
    let page = jobs::list(&connection, &ctx, &filter, window).await?;
    page.try_map(|row| JobItem::new(row, ctx.now())).map(Json)
}
