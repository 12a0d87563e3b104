//! `/catalog/products`

use backoffice_core::http::{
    CheckedQuery, Created, CreatedId, Done, Id, Identified, Json, Path, Query, QueryInput, Routes, Updated, requires,
};
use backoffice_core::list::{CommaList, IdList, InstantOrDate, ListQuery, Page};
use backoffice_core::{Error, Rejection, RequestContext, Result, Violations, crud};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::{CreateProduct, ProductInput};
use crate::documented::ProductChanges;
use crate::model::{Category, Price, Product};
use crate::query::products::{ProductFilter, ProductSummary};
use crate::query::taken::Codes;
use crate::query::variants::VariantSummary;
use crate::{acl, query, values};
use backoffice_core::list::instant;

pub(super) fn routes(routes: &mut Routes) {
    let (path, one) = ("/catalog/products", "/catalog/products/{id}");
    routes
        .get(path, requires(&[acl::PRODUCTS_VIEW]), list_products)
        .shows(&[
            "catalog.product",
            "catalog.category",
            "catalog.variant",
            "catalog.price",
        ])
        .about("List products");
    routes
        .get(one, requires(&[acl::PRODUCTS_VIEW]), get_product)
        .shows(&[
            "catalog.product",
            "catalog.category",
            "catalog.variant",
            "catalog.price",
        ])
        .about("A product with its variants, prices and categories")
        .rejects(&[404]);
    routes
        .post(path, requires(&[acl::PRODUCTS_MANAGE]), create_product)
        .about("Create a product, optionally with variants and prices")
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
    fn filter(&self, violations: &mut Violations) -> ProductFilter {
        let types = self.product_type.as_deref();
        let types = types.map(|text| CommaList::new("productType").one_of([text], values::PRODUCT_TYPES));
        let categories = self.category_ids.as_deref();
        let categories = categories.map(|text| CommaList::new("categoryIds").ids([text]));
        let tags = self.tags.as_deref().map(|text| CommaList::new("tags").texts([text]));
        let (from, to) = (self.created_from.as_deref(), self.created_to.as_deref());
        ProductFilter {
            pattern: None,
            found: None,
            ids: None,
            is_active: self.is_active,
            product_types: violations
                .keep(types.transpose())
                .map(|types| types.into_iter().map(str::to_owned).collect()),
            category_ids: violations.keep(categories.transpose()),
            tags: violations.keep(tags.transpose()),
            created_from: violations.keep(instant("createdFrom", from, false)),
            created_to: violations.keep(instant("createdTo", to, true)),
        }
    }
}

impl QueryInput for ProductQuery {
    fn validate(&self, violations: &mut Violations) {
        self.filter(violations);
    }
}

/// A product with its variants, prices and categories.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CatalogProductDetail)]
struct ProductDetail {
    #[serde(flatten)]
    summary: ProductSummary,
    /// The first 1000 by position; the list of variants has all of them.
    variants: Vec<VariantSummary>,
    /// The oldest 5000; the list of prices has all of them.
    prices: Vec<Price>,
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
    list: ListQuery<Product>,
    query: CheckedQuery<ProductQuery>,
) -> Result<Json<Page<ProductSummary>>> {
    let mut violations = Violations::default();
    let request = list.validate_with(&mut violations);
    let filter = ProductFilter {
        pattern: request.pattern,
        ids: request.ids,
        ..query.0.filter(&mut violations)
    };
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::products::list(&connection, &ctx, &filter, request.order, request.window).await?;
    Ok(Json(page))
}

async fn get_product(ctx: RequestContext, path: Path<Id>) -> Result<Json<ProductDetail>> {
    let (id, connection, scope) = (path.0.id, ctx.read().await?, ctx.scope());
    let Json(summary) = crud::found::<Product, _>(query::products::find(&connection, scope, id).await?)?;
    let (variants, prices, categories) = futures_util::future::try_join3(
        query::variants::of_product(&connection, scope, id),
        query::prices::of_product(&connection, scope, id),
        query::categories::of_product(&connection, scope, id),
    )
    .await?;
    Ok(Json(ProductDetail {
        summary,
        variants,
        prices,
        categories: categories.into_iter().map(CategoryName::from).collect(),
    }))
}

async fn create_product(ctx: RequestContext, body: Json<ProductInput>) -> Result<Created<CreatedId>> {
    let command = CreateProduct::new(&ctx, &body.0)?;
    match ctx.execute(&command, |id| Created(CreatedId { id })).await {
        Err(error) if is_taken(&error) => Err(all_taken(&ctx, &command.codes(), error).await?),
        created => created,
    }
}

async fn update_product(ctx: RequestContext, body: Identified<ProductInput, ProductChanges>) -> Result<Json<Updated>> {
    let (id, codes) = (body.id, body.fields.codes());
    match crud::update::<Product>(&ctx, id, body.fields).await {
        Err(error) if is_taken(&error) => {
            let organization = query::products::organization(&*ctx.read().await?, ctx.scope(), id).await?;
            let codes = Codes {
                organization: organization.unwrap_or_default(),
                product: id,
                ..codes
            };
            Err(all_taken(&ctx, &codes, error).await?)
        }
        updated => updated,
    }
}

/// Returns whether a code is the reason of a rejection.
fn is_taken(error: &Error) -> bool {
    match error {
        Error::Rejected(rejection) => rejection.details.iter().any(|detail| detail.code == "not_unique"),
        _ => false,
    }
}

/// Returns the rejection that names all codes which are taken; the first one, if they are free by now.
async fn all_taken(ctx: &RequestContext, codes: &Codes, first: Error) -> Result<Error> {
    let details = query::taken::taken(&*ctx.read().await?, ctx.scope(), codes).await?;
    match details.is_empty() {
        true => Ok(first),
        false => Ok(Rejection::invalid(details).into()),
    }
}

async fn delete_product(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Product>(&ctx, query.0.id).await
}
