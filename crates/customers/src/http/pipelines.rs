//! Endpoints of pipelines.

use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};

use super::WITH_PIPELINES;
use crate::acl;
use crate::commands::PipelineFields;
use crate::model::Pipeline;
use crate::query::pipelines;

pub(super) fn routes(routes: &mut Routes) {
    let path = "/customers/pipelines";
    routes
        .get(path, requires(&[acl::PIPELINES_VIEW]), list_pipelines)
        .shows(WITH_PIPELINES)
        .about("List pipelines");
    routes
        .get(
            "/customers/pipelines/{id}",
            requires(&[acl::PIPELINES_VIEW]),
            get_pipeline,
        )
        .shows(WITH_PIPELINES)
        .about("A pipeline")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::PIPELINES_MANAGE]), create_pipeline)
        .about("Create a pipeline")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::PIPELINES_MANAGE]), update_pipeline)
        .about("Rename a pipeline")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::PIPELINES_MANAGE]), delete_pipeline)
        .about("Delete a pipeline with its stages")
        .rejects(&[404, 409, 422]);
}

async fn list_pipelines(ctx: RequestContext, list: ListQuery<Pipeline>) -> Result<Json<Page<Pipeline>>> {
    let request = list.validate()?;
    let connection = ctx.read().await?;
    let page = pipelines::list(&connection, &ctx, &request).await?;
    Ok(Json(page))
}

async fn get_pipeline(ctx: RequestContext, path: Path<Id>) -> Result<Json<Pipeline>> {
    let connection = ctx.read().await?;
    let row = pipelines::find(&connection, ctx.scope(), path.0.id).await?;
    crud::found::<Pipeline, _>(row)
}

async fn create_pipeline(ctx: RequestContext, body: Json<PipelineFields>) -> Result<Created<CreatedId>> {
    crud::create::<Pipeline>(&ctx, body.0).await
}

async fn update_pipeline(ctx: RequestContext, body: Identified<PipelineFields>) -> Result<Json<Updated>> {
    crud::update::<Pipeline>(&ctx, body.id, body.fields).await
}

async fn delete_pipeline(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Pipeline>(&ctx, query.0.id).await
}
