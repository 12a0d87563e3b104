//! `/catalog/prices`

use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::Page;
use backoffice_core::{RequestContext, Result};
use serde::Deserialize;
use utoipa::IntoParams;
use uuid::Uuid;

use super::listing::{ListOf, Sorted};
use super::{Changed, Done, Id, NewId, Patch, found};
use crate::commands::CreatePrice;
use crate::input::PriceInput;
use crate::model::{Price, PriceRow};
use crate::query::prices::PriceFilter;
use crate::{acl, query};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/prices", "/catalog/prices/{id}");
    routes
        .get(path, requires(&[acl::PRODUCTS_VIEW]), list_prices)
        .about("List prices");
    routes
        .get(one, requires(&[acl::PRODUCTS_VIEW]), get_price)
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

impl Sorted for Price {
    const BY: &'static [&'static str] = &["createdAt"];
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
    listing: ListOf<Price>,
    query: Query<PriceQuery>,
) -> Result<Json<Page<PriceRow>>> {
    let listed = listing.checked()?;
    let filter = PriceFilter {
        pattern: listed.pattern,
        ids: listed.ids,
        product_id: query.0.product_id,
        variant_id: query.0.variant_id,
    };
    let connection = ctx.read().await?;
    let page = query::prices::list(&connection, ctx.scope(), &filter, listed.sort, listed.window).await?;
    Ok(Json(page))
}

async fn get_price(ctx: RequestContext, path: Path<Id>) -> Result<Json<PriceRow>> {
    let connection = ctx.read().await?;
    let row = query::prices::find(&connection, ctx.scope(), path.0.id).await?;
    found::<Price, _>(row).map(Json)
}

async fn create_price(ctx: RequestContext, body: Json<PriceInput>) -> Result<Created<NewId>> {
    super::create(&ctx, CreatePrice::new(&ctx, &body.0)?).await
}

async fn update_price(ctx: RequestContext, body: Patch<PriceInput>) -> Result<Json<Changed>> {
    super::update(&ctx, body.0).await
}

async fn delete_price(ctx: RequestContext, target: Query<Id>) -> Result<Json<Done>> {
    super::delete::<Price>(&ctx, target.0).await
}
