//! Endpoints of job sites.

use backoffice_core::http::{CheckedQuery, Created, CreatedId, Json, Path, PathId, QueryInput, Routes, requires};
use backoffice_core::list::{ListQuery, Page, parameters};
use backoffice_core::{RequestContext, Result, Violations, crud, missing_as};
use serde::Deserialize;
use utoipa::IntoParams;

use super::bodies::{DeletedRecord, WrittenRecord};
use crate::acl;
use crate::commands::{DeleteJobSite, JobSiteChanges, NewJobSite, UpdateJobSite};
use crate::documented::JobSiteStatus;
use crate::model::{JOB_SITE, JobSite};
use crate::query::job_sites::{self, JobSiteFilter};
use crate::values::SITE_STATUSES;
use backoffice_calendar::Day;

const LIST: &str = "/dispatch/job-sites";
const ONE: &str = "/dispatch/job-sites/{id}";
const NOT_FOUND: &str = "job_site_not_found";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(LIST, requires(&[acl::VIEW]), list_job_sites)
        .shows(&[JOB_SITE])
        .about("List job sites");
    routes
        .get(ONE, requires(&[acl::VIEW]), get_job_site)
        .shows(&[JOB_SITE])
        .about("A job site")
        .rejects(&[404]);
    routes
        .post(LIST, requires(&[acl::MANAGE]), create_job_site)
        .about("Create a job site")
        .rejects(&[409, 422]);
    routes
        .put(ONE, requires(&[acl::MANAGE]), update_job_site)
        .about("Change a job site")
        .rejects(&[404, 409, 422]);
    routes
        .delete(ONE, requires(&[acl::MANAGE]), delete_job_site)
        .about("Delete a job site without live assignments")
        .rejects(&[404, 409, 422]);
}

/// Further parameters of the list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct JobSiteQuery {
    /// Only this status.
    #[param(value_type = Option<JobSiteStatus>, inline)]
    status: Option<String>,
    /// Only sites with work on this day or later.
    #[param(value_type = Option<Day>, inline)]
    from: Option<String>,
    /// Only sites with work before this day.
    #[param(value_type = Option<Day>, inline)]
    to: Option<String>,
}

impl JobSiteQuery {
    fn filter(&self, violations: &mut Violations) -> JobSiteFilter {
        let status = parameters::word("status", self.status.as_deref(), SITE_STATUSES, violations);
        JobSiteFilter {
            statuses: status.map(|status| vec![status]),
            from: Day::from_parameter("from", self.from.as_deref(), violations),
            to: Day::from_parameter("to", self.to.as_deref(), violations),
        }
    }
}

impl QueryInput for JobSiteQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

async fn list_job_sites(
    ctx: RequestContext,
    list: ListQuery<JobSite>,
    query: CheckedQuery<JobSiteQuery>,
) -> Result<Json<Page<JobSite>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = query.0.filter(&mut violations);
    violations.check()?;
    let connection = ctx.read().await?;
    job_sites::list(&connection, &ctx, &filter, &request).await.map(Json)
}

async fn get_job_site(ctx: RequestContext, path: Path<PathId>) -> Result<Json<JobSite>> {
    let connection = ctx.read().await?;
    let found = job_sites::find(&connection, ctx.scope(), path.0.id).await?;
    missing_as(crud::found::<JobSite, _>(found), NOT_FOUND)
}

async fn create_job_site(ctx: RequestContext, body: Json<NewJobSite>) -> Result<Created<CreatedId>> {
    crud::create::<JobSite>(&ctx, body.0.0).await
}

async fn update_job_site(
    ctx: RequestContext,
    path: Path<PathId>,
    body: Json<JobSiteChanges>,
) -> Result<Json<WrittenRecord>> {
    let id = path.0.id;
    let command = UpdateJobSite::new(id, body.0.0)?;
    let updated = ctx.execute(&command, |_| Json(WrittenRecord { id })).await;
    missing_as(updated, NOT_FOUND)
}

async fn delete_job_site(ctx: RequestContext, path: Path<PathId>) -> Result<Json<DeletedRecord>> {
    let command = DeleteJobSite::new(path.0.id);
    let deleted = ctx.execute(&command, |()| Json(DeletedRecord::OK)).await;
    missing_as(deleted, NOT_FOUND)
}
