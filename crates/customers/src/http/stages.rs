//! Endpoints of stages of pipelines.

use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{CommaList, IdList, ListQuery, Page};
use backoffice_core::{RequestContext, Result, Violations, crud};
use serde::Deserialize;
use utoipa::IntoParams;

use super::WITH_PIPELINES;
use crate::acl;
use crate::commands::{ReorderStages, StageFields, StageOrder};
use crate::model::Stage;
use crate::query::stages::{self, StageFilter};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/customers/pipeline-stages";
    routes
        .get(path, requires(&[acl::PIPELINES_VIEW]), list_pipeline_stages)
        .shows(WITH_PIPELINES)
        .about("List stages of pipelines");
    routes
        .get(
            "/customers/pipeline-stages/{id}",
            requires(&[acl::PIPELINES_VIEW]),
            get_pipeline_stage,
        )
        .shows(WITH_PIPELINES)
        .about("A stage of a pipeline")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::PIPELINES_MANAGE]), create_pipeline_stage)
        .about("Append a stage to a pipeline")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::PIPELINES_MANAGE]), update_pipeline_stage)
        .about("Change a stage")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::PIPELINES_MANAGE]), delete_pipeline_stage)
        .about("Delete a stage without deals")
        .rejects(&[404, 409, 422]);
    routes
        .post(
            "/customers/pipeline-stages/reorder",
            requires(&[acl::PIPELINES_MANAGE]),
            reorder_pipeline_stages,
        )
        .about("Put the stages of a pipeline into another order")
        .rejects(&[404, 409, 422]);
}

/// Filters of the list of stages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct StageQuery {
    /// Only stages of these pipelines: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    pipeline_id: Option<String>,
}

async fn list_pipeline_stages(
    ctx: RequestContext,
    list: ListQuery<Stage>,
    query: Query<StageQuery>,
) -> Result<Json<Page<Stage>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let pipelines = query.0.pipeline_id.as_deref();
    let pipelines = pipelines.map(|text| CommaList::new("pipelineId").ids([text]));
    let filter = StageFilter {
        pipelines: violations.keep(pipelines.transpose()),
    };
    violations.check()?;
    let connection = ctx.read().await?;
    let page = stages::list(&connection, &ctx, &filter, &request).await?;
    Ok(Json(page))
}

async fn get_pipeline_stage(ctx: RequestContext, path: Path<Id>) -> Result<Json<Stage>> {
    let connection = ctx.read().await?;
    let row = stages::find(&connection, ctx.scope(), path.0.id).await?;
    crud::found::<Stage, _>(row)
}

async fn create_pipeline_stage(ctx: RequestContext, body: Json<StageFields>) -> Result<Created<CreatedId>> {
    crud::create::<Stage>(&ctx, body.0).await
}

async fn update_pipeline_stage(ctx: RequestContext, body: Identified<StageFields>) -> Result<Json<Updated>> {
    crud::update::<Stage>(&ctx, body.id, body.fields).await
}

async fn delete_pipeline_stage(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Stage>(&ctx, query.0.id).await
}

async fn reorder_pipeline_stages(ctx: RequestContext, body: Json<StageOrder>) -> Result<Json<Done>> {
    ctx.execute(&ReorderStages(body.0), |()| Json(Done::OK)).await
}
