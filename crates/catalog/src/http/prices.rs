//! `/catalog/prices`

use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Path, Query, Routes, Updated, requires};
use backoffice_core::list::{ListQuery, Page};
use backoffice_core::{RequestContext, Result, crud};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use crate::acl;
use crate::commands::PriceInput;
use crate::model::Price;
use crate::query::prices::{self, PriceFilter};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/prices", "/catalog/prices/{id}");
    routes
        .get(path, requires(&[acl::PRODUCTS_VIEW]), list_prices)
        .shows(&["catalog.price", "catalog.variant", "catalog.product"])
        .about("List prices");
    routes
        .get(one, requires(&[acl::PRODUCTS_VIEW]), get_price)
        .shows(&["catalog.price", "catalog.variant", "catalog.product"])
        .about("A price")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::PRODUCTS_MANAGE]), create_price)
        .about("Create a price of a product or a variant")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::PRODUCTS_MANAGE]), update_price)
        .about("Change a price")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::PRODUCTS_MANAGE]), delete_price)
        .about("Delete a price")
        .rejects(&[404, 409, 422]);
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct PriceQuery {
    /// Only prices of this product, its variants included.
    product_id: Option<Uuid>,
    /// Only prices of this variant.
    variant_id: Option<Uuid>,
}

async fn list_prices(
    ctx: RequestContext,
    list: ListQuery<Price>,
    query: Query<PriceQuery>,
) -> Result<Json<Page<Price>>> {
    let request = list.validate()?;
    let filter = PriceFilter {
        product_id: query.0.product_id,
        variant_id: query.0.variant_id,
    };
    let connection = ctx.read().await?;
    let page = prices::list(&connection, &ctx, &filter, &request).await?;
    Ok(Json(page))
}

async fn get_price(ctx: RequestContext, path: Path<Id>) -> Result<Json<Price>> {
    let connection = ctx.read().await?;
    let row = prices::find(&connection, ctx.scope(), path.0.id).await?;
    crud::found::<Price, _>(row)
}

async fn create_price(ctx: RequestContext, body: Json<PriceInput>) -> Result<Created<CreatedId>> {
    crud::create::<Price>(&ctx, body.0).await
}

async fn update_price(ctx: RequestContext, body: Identified<PriceInput>) -> Result<Json<Updated>> {
    crud::update::<Price>(&ctx, body.id, body.fields).await
}

async fn delete_price(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Price>(&ctx, query.0.id).await
}
