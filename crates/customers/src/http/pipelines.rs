//! Pipelines.

use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::Page;
use backoffice_core::{RequestContext, Result};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bodies::{Changed, CreatedId, Done, Id, ListQuery, Patch};
use crate::commands::pipelines::{CreatePipeline, DeletePipeline, PipelineFields, UpdatePipeline};
use crate::lists::Order;
use crate::model::{Pipeline, PipelineRow};
use crate::query::pipelines::PipelineFilter;
use crate::{acl, not_found, query};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/customers/pipelines";
    routes
        .get(path, requires(&[acl::PIPELINES_VIEW]), list_pipelines)
        .about("List pipelines");
    routes
        .get(
            "/customers/pipelines/{id}",
            requires(&[acl::PIPELINES_VIEW]),
            get_pipeline,
        )
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

/// Order of the list of pipelines.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct PipelineQuery {
    /// By default `name`.
    #[param(inline)]
    #[expect(dead_code, reason = "there is only one order; other values are rejected")]
    sort_field: Option<SortField>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum SortField {
    Name,
}

async fn list_pipelines(
    ctx: RequestContext,
    query: Query<ListQuery>,
    _pipelines: Query<PipelineQuery>,
) -> Result<Json<Page<PipelineRow>>> {
    let requested = query.0.checked()?;
    let order = Order {
        column: "lower(customers_pipelines.name)",
        nullable: false,
        descending: requested.is_descending(false),
    };
    let filter = PipelineFilter {
        pattern: requested.pattern,
        ids: requested.ids,
    };
    let connection = ctx.read().await?;
    let page = query::pipelines::list(&connection, ctx.scope(), &filter, order, requested.window).await?;
    Ok(Json(page))
}

async fn get_pipeline(ctx: RequestContext, path: Path<Id>) -> Result<Json<PipelineRow>> {
    let connection = ctx.read().await?;
    let found = query::pipelines::find(&connection, ctx.scope(), path.0.id).await?;
    found.map(Json).ok_or_else(not_found::<Pipeline>)
}

async fn create_pipeline(ctx: RequestContext, body: Json<PipelineFields>) -> Result<Created<CreatedId>> {
    let command = CreatePipeline::new(&ctx, body.0)?;
    ctx.execute(&command, |id| Created(CreatedId::from(id))).await
}

async fn update_pipeline(ctx: RequestContext, body: Patch<PipelineFields>) -> Result<Json<Changed>> {
    let command = UpdatePipeline::new(body.id, body.fields)?;
    ctx.execute(&command, |at| Json(Changed::from(at))).await
}

async fn delete_pipeline(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    ctx.execute(&DeletePipeline { id: query.0.id }, |()| Json(Done::YES))
        .await
}
