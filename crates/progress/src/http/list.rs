//! The list of jobs.

use backoffice_core::http::{CheckedQuery, Json, QueryInput};
use backoffice_core::list::{CommaList, ListQuery, Page};
use backoffice_core::{RequestContext, Result, Timestamp, Violations};
use serde::Deserialize;
use utoipa::IntoParams;

use super::job_item::JobItem;
use super::words::Statuses;
use crate::model::{ProgressJob, Status};
use crate::query::jobs::{self, JobFilter};

/// Filters of the list of jobs; `search` is a part of the name.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(super) struct JobQuery {
    /// Any of these statuses: comma list or repeated.
    #[param(value_type = Option<Vec<Statuses>>, inline)]
    status: Option<Vec<String>>,
    /// Any of these bulk commands: comma list or repeated, at most 200.
    job_type: Option<Vec<String>>,
    /// Only the caller's own jobs. Default false.
    mine: Option<bool>,
    /// Requested before this time.
    before: Option<Timestamp>,
    /// Requested after this time.
    after: Option<Timestamp>,
}

impl JobQuery {
    fn filter(&self, violations: &mut Violations) -> JobFilter {
        let statuses = self.status.as_ref().map(|lists| {
            let lists = lists.iter().map(String::as_str);
            CommaList::new("status").parsed(lists, "must be statuses of jobs", Status::parse)
        });
        let types = self.job_type.as_ref().map(|lists| {
            let lists = lists.iter().map(String::as_str);
            CommaList::new("jobType").texts(lists)
        });
        JobFilter {
            mine: self.mine.unwrap_or(false),
            statuses: violations.keep(statuses.transpose()),
            types: violations.keep(types.transpose()),
            before: self.before,
            after: self.after,
        }
    }
}

impl QueryInput for JobQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

pub(super) async fn list_jobs(
    ctx: RequestContext,
    list: ListQuery<ProgressJob>,
    query: CheckedQuery<JobQuery>,
) -> Result<Json<Page<JobItem>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    let page = jobs::list(&connection, &ctx, &filter, &request).await?;
    page.try_map(JobItem::new).map(Json)
}
