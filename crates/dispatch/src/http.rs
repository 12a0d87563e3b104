//! Endpoints of job sites.

use backoffice_core::command::Entity;
use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};

use crate::commands::JobSiteInput;
use crate::model::JobSite;
use crate::{acl, query};

pub(crate) fn routes(routes: &mut Routes) {
    let (path, one) = ("/dispatch/job-sites", "/dispatch/job-sites/{id}");
    routes
        .get(path, requires(&[acl::JOB_SITES_VIEW]), list_dispatch_job_sites)
        .shows(&[JobSite::KIND])
        .about("List job sites");
    routes
        .get(one, requires(&[acl::JOB_SITES_VIEW]), get_dispatch_job_site)
        .shows(&[JobSite::KIND])
        .about("A job site")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::JOB_SITES_MANAGE]), create_dispatch_job_site)
        .about("Create a job site")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::JOB_SITES_MANAGE]), update_dispatch_job_site)
        .about("Change a job site")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::JOB_SITES_MANAGE]), delete_dispatch_job_site)
        .about("Delete a job site")
        .rejects(&[404, 409, 422]);
}

async fn list_dispatch_job_sites(ctx: RequestContext, list: ListQuery<JobSite>) -> Result<Json<Page<JobSite>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    query::list(&connection, &ctx, &request).await.map(Json)
}

async fn get_dispatch_job_site(ctx: RequestContext, path: Path<Id>) -> Result<Json<JobSite>> {
    let connection = ctx.read().await?;
    crud::found::<JobSite, _>(query::find(&connection, ctx.scope(), path.0.id).await?)
}

async fn create_dispatch_job_site(ctx: RequestContext, body: Json<JobSiteInput>) -> Result<Created<CreatedId>> {
    crud::create::<JobSite>(&ctx, body.0).await
}

async fn update_dispatch_job_site(ctx: RequestContext, body: Identified<JobSiteInput>) -> Result<Json<Updated>> {
    crud::update::<JobSite>(&ctx, body.id, body.fields).await
}

async fn delete_dispatch_job_site(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<JobSite>(&ctx, query.0.id).await
}
