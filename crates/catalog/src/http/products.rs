//! `/catalog/products`

use backoffice_core::http::{Created, Json, Path, Query, Routes, requires};
use backoffice_core::list::{CommaList, IdList, InstantOrDate, Page};
use backoffice_core::{Detail, RequestContext, Result, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::listing::{ListOf, Listed, Sorted, uuids, words};
use super::variants::VariantItem;
use super::{Changed, Done, Id, NewId, Patch, found};
use crate::commands::CreateProduct;
use crate::input::{PRODUCT_TYPES, ProductInput};
use crate::model::{Category, PriceRow, Product, ProductRow};
use crate::query::products::{ProductFilter, ProductSummary};
use crate::range::instant;
use crate::{acl, query};

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/products", "/catalog/products/{id}");
    routes
        .get(path, requires(&[acl::PRODUCTS_VIEW]), list_products)
        .about("List products");
    routes
        .get(one, requires(&[acl::PRODUCTS_VIEW]), get_product)
        .about("A product with its variants, prices and categories")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::PRODUCTS_MANAGE]), create_product)
        .about("Create a product, with variants and prices if given")
        .rejects(&[409, 422]);
    routes
        .put(path, requires(&[acl::PRODUCTS_MANAGE]), update_product)
        .about("Change a product")
        .rejects(&[404, 409, 422]);
    routes
        .delete(path, requires(&[acl::PRODUCTS_MANAGE]), delete_product)
        .about("Delete a product with its variants and prices")
        .rejects(&[404, 409, 422]);
}

impl Sorted for Product {
    const BY: &'static [&'static str] = &["createdAt", "updatedAt", "title", "sku"];
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct ProductQuery {
    /// Only active products, or only inactive ones.
    is_active: Option<bool>,
    /// Types joined by commas: `simple`, `configurable`, `virtual`.
    #[param(pattern = "^ *(simple|configurable|virtual)?( *, *(simple|configurable|virtual)?)* *$")]
    product_type: Option<String>,
    /// In any of these categories or below: ids joined by commas, at most 200.
    #[param(value_type = Option<IdList>, inline)]
    category_ids: Option<String>,
    /// With any of these tags, joined by commas, at most 200.
    tags: Option<String>,
    /// Created at this time or later: a timestamp or a date.
    #[param(value_type = Option<InstantOrDate>, inline)]
    created_from: Option<String>,
    /// Created at this time or earlier: a timestamp or a date, that day included.
    #[param(value_type = Option<InstantOrDate>, inline)]
    created_to: Option<String>,
}

impl ProductQuery {
    fn filter(&self, listed: &Listed) -> Result<ProductFilter> {
        let (from, to) = (self.created_from.as_deref(), self.created_to.as_deref());
        let mut violations = Violations::default();
        let filter = ProductFilter {
            pattern: listed.pattern.clone(),
            ids: listed.ids.clone(),
            is_active: self.is_active,
            product_types: violations.keep(self.product_types()),
            category_ids: violations.keep(uuids("categoryIds", self.category_ids.as_deref())),
            tags: violations.keep(words("tags", self.tags.as_deref())),
            created_from: violations.keep(instant("createdFrom", from, false)),
            created_to: violations.keep(instant("createdTo", to, true)),
        };
        violations.check().map(|()| filter)
    }

    fn product_types(&self) -> Result<Option<Vec<String>>, Detail> {
        let list = self.product_type.as_deref();
        let types = list.map(|text| CommaList::new("productType").one_of([text], PRODUCT_TYPES));
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        types.transpose().map(|types| types.map(owned))
    }
}

/// A product of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogProductItem)]
struct ProductItem {
    #[serde(flatten)]
    row: ProductRow,
    /// The categories.
    category_ids: Vec<Uuid>,
    /// Number of variants.
    variant_count: i64,
    /// Present, and true, if the response has no space for the metadata; the product by itself has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

impl From<ProductSummary> for ProductItem {
    fn from(line: ProductSummary) -> Self {
        Self {
            row: line.row,
            category_ids: line.category_ids,
            variant_count: line.variant_count,
            truncated: line.is_truncated,
        }
    }
}

/// A product with its variants, prices and categories.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CatalogProductDetail)]
struct ProductDetail {
    #[serde(flatten)]
    item: ProductItem,
    /// The first 1000 by position; the list of variants has all of them.
    variants: Vec<VariantItem>,
    /// The oldest 5000; the list of prices has all of them.
    prices: Vec<PriceRow>,
    /// The categories that are visible to the caller, by name.
    categories: Vec<CategoryName>,
}

/// A category of a product.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CatalogCategoryName)]
struct CategoryName {
    id: Uuid,
    name: String,
    slug: String,
}

impl From<Category> for CategoryName {
    fn from(row: Category) -> Self {
        Self {
            id: row.id,
            name: row.name,
            slug: row.slug,
        }
    }
}

async fn list_products(
    ctx: RequestContext,
    listing: ListOf<Product>,
    query: Query<ProductQuery>,
) -> Result<Json<Page<ProductItem>>> {
    let mut violations = Violations::default();
    let listed = violations.keep(listing.checked());
    let filter = violations.keep(query.0.filter(&listed));
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::products::list(&connection, ctx.scope(), &filter, listed.sort, listed.window).await?;
    Ok(Json(page.map(ProductItem::from)))
}

async fn get_product(ctx: RequestContext, path: Path<Id>) -> Result<Json<ProductDetail>> {
    let (id, connection, scope) = (path.0.id, ctx.read().await?, ctx.scope());
    let item = found::<Product, _>(query::products::find(&connection, scope, id).await?)?;
    let (variants, prices, categories) = futures_util::future::try_join3(
        query::variants::of_product(&connection, scope, id),
        query::prices::of_product(&connection, scope, id),
        query::categories::of_product(&connection, scope, id),
    )
    .await?;
    Ok(Json(ProductDetail {
        item: item.into(),
        variants: variants.into_iter().map(VariantItem::from).collect(),
        prices,
        categories: categories.into_iter().map(CategoryName::from).collect(),
    }))
}

async fn create_product(ctx: RequestContext, body: Json<ProductInput>) -> Result<Created<NewId>> {
    super::create(&ctx, CreateProduct::new(&ctx, &body.0)?).await
}

async fn update_product(ctx: RequestContext, body: Patch<ProductInput>) -> Result<Json<Changed>> {
    super::update(&ctx, body.0).await
}

async fn delete_product(ctx: RequestContext, target: Query<Id>) -> Result<Json<Done>> {
    super::delete::<Product>(&ctx, target.0).await
}
