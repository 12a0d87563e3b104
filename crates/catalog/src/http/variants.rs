//! `/catalog/variants`

use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::Page;
use backoffice_core::{RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::listing::{ListOf, Sorted};
use super::{Changed, Done, Id, NewId, Patch, found};
use crate::commands::CreateVariant;
use crate::input::VariantInput;
use crate::model::{Variant, VariantRow};
use crate::query::variants::{VariantFilter, VariantSummary};
use crate::{acl, query};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/variants", "/catalog/variants/{id}");
    routes
        .get(path, requires(&[acl::PRODUCTS_VIEW]), list_variants)
        .about("List variants");
    routes
        .get(one, requires(&[acl::PRODUCTS_VIEW]), get_variant)
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

impl Sorted for Variant {
    const BY: &'static [&'static str] = &["position", "createdAt"];
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct VariantQuery {
    /// Only variants of this product.
    product_id: Option<Uuid>,
}

/// A variant of a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CatalogVariantItem)]
pub(super) struct VariantItem {
    #[serde(flatten)]
    row: VariantRow,
    /// Present, and true, if the response has no space for the options; the variant by itself has them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl From<VariantSummary> for VariantItem {
    fn from(line: VariantSummary) -> Self {
        Self {
            row: line.row,
            truncated: line.is_truncated,
        }
    }
}

async fn list_variants(
    ctx: RequestContext,
    listing: ListOf<Variant>,
    query: Query<VariantQuery>,
) -> Result<Json<Page<VariantItem>>> {
    let listed = listing.checked()?;
    let filter = VariantFilter {
        pattern: listed.pattern,
        ids: listed.ids,
        product_id: query.0.product_id,
    };
    let connection = ctx.read().await?;
    let page = query::variants::list(&connection, ctx.scope(), &filter, listed.sort, listed.window).await?;
    Ok(Json(page.map(VariantItem::from)))
}

async fn get_variant(ctx: RequestContext, path: Path<Id>) -> Result<Json<VariantRow>> {
    let connection = ctx.read().await?;
    let row = query::variants::find(&connection, ctx.scope(), path.0.id).await?;
    found::<Variant, _>(row).map(Json)
}

async fn create_variant(ctx: RequestContext, body: Json<VariantInput>) -> Result<Created<NewId>> {
    super::create(&ctx, CreateVariant::new(&ctx, &body.0)?).await
}

async fn update_variant(ctx: RequestContext, body: Patch<VariantInput>) -> Result<Json<Changed>> {
    super::update(&ctx, body.0).await
}

async fn delete_variant(ctx: RequestContext, target: Query<Id>) -> Result<Json<Done>> {
    super::delete::<Variant>(&ctx, target.0).await
}
