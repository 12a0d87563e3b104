//! `/catalog/variants`

use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::acl;
use crate::commands::VariantInput;
use crate::model::Variant;
use crate::query::variants::{self, VariantFilter, VariantSummary};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/variants", "/catalog/variants/{id}");
    routes
        .get(path, requires(&[acl::PRODUCTS_VIEW]), list_variants)
        .shows(&["catalog.variant", "catalog.price", "catalog.product"])
        .about("List variants");
    routes
        .get(one, requires(&[acl::PRODUCTS_VIEW]), get_variant)
        .shows(&["catalog.variant", "catalog.price", "catalog.product"])
        .about("A variant")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::PRODUCTS_MANAGE]), create_variant)
        .about("Create a variant of a product")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::PRODUCTS_MANAGE]), update_variant)
        .about("Change a variant")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::PRODUCTS_MANAGE]), delete_variant)
        .about("Delete a variant with its prices")
        .rejects(&[404, 409, 422]);
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct VariantQuery {
    /// Only variants of this product.
    product_id: Option<Uuid>,
}

async fn list_variants(
    ctx: RequestContext,
    list: ListQuery<Variant>,
    query: Query<VariantQuery>,
) -> Result<Json<Page<VariantSummary>>> {
    let request = list.validate()?;
    let filter = VariantFilter {
        product_id: query.0.product_id,
    };
    let connection = ctx.read().await?;
    let page = variants::list(&connection, &ctx, &filter, &request).await?;
    Ok(Json(page))
}

async fn get_variant(ctx: RequestContext, path: Path<Id>) -> Result<Json<Variant>> {
    let connection = ctx.read().await?;
    let row = variants::find(&connection, ctx.scope(), path.0.id).await?;
    crud::found::<Variant, _>(row)
}

async fn create_variant(ctx: RequestContext, body: Json<VariantInput>) -> Result<Created<CreatedId>> {
    crud::create::<Variant>(&ctx, body.0).await
}

async fn update_variant(ctx: RequestContext, body: Identified<VariantInput>) -> Result<Json<Updated>> {
    crud::update::<Variant>(&ctx, body.id, body.fields).await
}

async fn delete_variant(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Variant>(&ctx, query.0.id).await
}
