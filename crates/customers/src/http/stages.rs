//! Stages of pipelines.

use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::{CommaList, IdList, Page};
use backoffice_core::{RequestContext, Result, Violations};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bodies::{Changed, CreatedId, Done, Id, ListQuery, Patch};
use crate::commands::stages::{CreateStage, DeleteStage, ReorderStages, StageFields, StageOrder, UpdateStage};
use crate::lists::Order;
use crate::model::{Stage, StageRow};
use crate::query::stages::StageFilter;
use crate::{acl, not_found, query};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/customers/pipeline-stages";
    routes
        .get(path, requires(&[acl::PIPELINES_VIEW]), list_pipeline_stages)
        .about("List stages of pipelines");
    routes
        .get(
            "/customers/pipeline-stages/{id}",
            requires(&[acl::PIPELINES_VIEW]),
            get_pipeline_stage,
        )
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

/// Filters and order of the list of stages.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct StageQuery {
    /// Only stages of these pipelines: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    pipeline_id: Option<String>,
    /// By default `position`.
    #[param(inline)]
    #[expect(dead_code, reason = "there is only one order; other values are rejected")]
    sort_field: Option<SortField>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum SortField {
    Position,
}

async fn list_pipeline_stages(
    ctx: RequestContext,
    query: Query<ListQuery>,
    stages: Query<StageQuery>,
) -> Result<Json<Page<StageRow>>> {
    let mut violations = Violations::default();
    let requested = violations.keep(query.0.checked());
    let pipelines = stages.0.pipeline_id.as_deref();
    let pipelines = pipelines.map(|text| CommaList::new("pipelineId").ids([text]));
    let pipelines = violations.keep(pipelines.transpose());
    violations.check()?;
    let order = Order {
        column: "customers_pipeline_stages.position",
        nullable: false,
        descending: requested.is_descending(false),
    };
    let filter = StageFilter {
        pattern: requested.pattern,
        ids: requested.ids,
        pipelines,
    };
    let connection = ctx.read().await?;
    let page = query::stages::list(&connection, ctx.scope(), &filter, order, requested.window).await?;
    Ok(Json(page))
}

async fn get_pipeline_stage(ctx: RequestContext, path: Path<Id>) -> Result<Json<StageRow>> {
    let connection = ctx.read().await?;
    let found = query::stages::find(&connection, ctx.scope(), path.0.id).await?;
    found.map(Json).ok_or_else(not_found::<Stage>)
}

async fn create_pipeline_stage(ctx: RequestContext, body: Json<StageFields>) -> Result<Created<CreatedId>> {
    let command = CreateStage::new(&ctx, body.0).await?;
    ctx.execute(&command, |id| Created(CreatedId::from(id))).await
}

async fn update_pipeline_stage(ctx: RequestContext, body: Patch<StageFields>) -> Result<Json<Changed>> {
    let command = UpdateStage::new(body.id, body.fields)?;
    ctx.execute(&command, |at| Json(Changed::from(at))).await
}

async fn delete_pipeline_stage(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    ctx.execute(&DeleteStage { id: query.0.id }, |()| Json(Done::YES)).await
}

async fn reorder_pipeline_stages(ctx: RequestContext, body: Json<StageOrder>) -> Result<Json<Done>> {
    ctx.execute(&ReorderStages(body.0), |()| Json(Done::YES)).await
}
