//! Products.

use std::collections::HashSet;

use backoffice_core::command::Entity;
use backoffice_core::db::{KeyColumn, Prepared, Recurring, read_documents};
use backoffice_core::list::{Beside, Order, Page, SortField, Sortable, Start, Window, find_texts};
use backoffice_core::scope::{Owned, VisibleTenants, Within};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, count_star, exists, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Bool, Jsonb, Nullable, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgArrayExpressionMethods,
    PgTextExpressionMethods, QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::Product;
use crate::schema::{catalog_product_categories as links, catalog_products as products, catalog_variants as variants};

/// Filters of products: a product must match every field, and an empty list matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProductFilter {
    /// Pattern for title, subtitle, sku, handle and the skus of the variants, with wildcards of the input escaped.
    pub pattern: Option<String>,
    /// The products that may match the pattern; `None` when every product must be compared.
    pub found: Option<Vec<Uuid>>,
    /// Only these products.
    pub ids: Option<Vec<Uuid>>,
    /// Only active products, or only inactive ones.
    pub is_active: Option<bool>,
    /// Of any of these types.
    pub product_types: Option<Vec<String>>,
    /// In any of these categories, or below them.
    pub category_ids: Option<Vec<Uuid>>,
    /// With any of these tags.
    pub tags: Option<Vec<String>>,
    /// Created at this time or later.
    pub created_from: Option<Timestamp>,
    /// Created at this time or earlier.
    pub created_to: Option<Timestamp>,
}

impl Sortable for Product {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "catalog_products.created_at"),
        SortField::time("updatedAt", "catalog_products.updated_at"),
        SortField::new("title", "catalog_products.title"),
        SortField::nullable("sku", "catalog_products.sku"),
    ];
}

/// A product of a list, with data of related tables.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CatalogProductItem)]
pub struct ProductSummary {
    /// The product.
    #[serde(flatten)]
    pub row: Product,
    /// The categories.
    pub category_ids: Vec<Uuid>,
    /// Number of variants.
    pub variant_count: i64,
    /// `true` if the response has no space for the metadata, otherwise absent. The endpoint of a single product returns it.
    #[serde(rename = "truncated", skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
}

/// Maximum bytes of metadata in a page, so that the response stays below 8 MiB (8,388,608 bytes). The other fields of 100 products take less than
/// 6,000,000 bytes of JSON, 60,000 for each product: 24,000 for a description of 4000 control characters, 6 bytes each; 24,000 for 100 tags of 60
/// characters, 4 bytes each; 8,000 for 200 ids of categories; and less than 4,000 for the rest.
const METADATA_OF_PAGE: usize = 2 * 1024 * 1024;

type InScope = Filter<Filter<products::table, Owned<products::tenant_id>>, Within<products::organization_id>>;

/// Returns the products that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    products::table
        .filter(scope.owns(products::tenant_id))
        .filter(scope.within(products::organization_id))
}

/// Returns the organization of a product, if it is visible to the caller.
///
/// # Errors
/// When the database can't be reached.
pub async fn organization(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Uuid>> {
    let found = in_scope(scope)
        .filter(products::id.eq(id))
        .select(products::organization_id);
    Ok(found.first(&mut &*connection).await.optional()?)
}

/// Matches products in the requested categories that are visible to the caller, or in categories below these. Null means no restriction.
const BELOW: &str = "catalog_product_categories.category_id = any(array(with recursive below as ( \
    select c.tenant_id, c.id from catalog_categories c where c.id = any(";
const OF_TENANT: &str = ") and c.tenant_id = ";
const OF_ANY_TENANT: &str = ")";
const OF_ORGANIZATIONS: &str = " and coalesce(c.organization_id = any(";
const DESCENDANTS: &str = "), true) \
    union select c.tenant_id, c.id from catalog_categories c \
    join below b on c.tenant_id = b.tenant_id and c.parent_id = b.id) select id from below))";

fn filtered<'a>(scope: &Scope, filter: &ProductFilter) -> products::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &filter.pattern {
        let of_variant = variants::table
            .filter(variants::tenant_id.eq(products::tenant_id))
            .filter(variants::product_id.eq(products::id))
            .filter(variants::sku.ilike(pattern.clone()));
        let own = products::title
            .ilike(pattern.clone())
            .or(products::subtitle.assume_not_null().ilike(pattern.clone()))
            .or(products::sku.assume_not_null().ilike(pattern.clone()))
            .or(products::handle.assume_not_null().ilike(pattern.clone()));
        query = query.filter(own.or(exists(of_variant)));
    }
    for ids in [&filter.ids, &filter.found].into_iter().flatten() {
        query = query.filter(products::id.one_of(ids.clone()));
    }
    if let Some(is_active) = filter.is_active {
        query = query.filter(products::is_active.eq(is_active));
    }
    if let Some(types) = &filter.product_types {
        query = query.filter(products::product_type.eq_any(types.clone()));
    }
    if let Some(categories) = &filter.category_ids {
        let seeds = sql::<Bool>(BELOW).bind::<Array<SqlUuid>, _>(categories.clone());
        let organizations = scope.organizations.clone();
        let linked = links::table.filter(scope.owns(links::tenant_id));
        query = match scope.visible_tenants {
            // The tenant as a condition of its own: the primary key finds the categories.
            VisibleTenants::Tenant(tenant) => {
                let below = seeds
                    .sql(OF_TENANT)
                    .bind::<SqlUuid, _>(tenant)
                    .sql(OF_ORGANIZATIONS)
                    .bind::<Nullable<Array<SqlUuid>>, _>(organizations)
                    .sql(DESCENDANTS);
                query.filter(products::id.eq_any(linked.filter(below).select(links::product_id)))
            }
            VisibleTenants::All => {
                let below = seeds
                    .sql(OF_ANY_TENANT)
                    .sql(OF_ORGANIZATIONS)
                    .bind::<Nullable<Array<SqlUuid>>, _>(organizations)
                    .sql(DESCENDANTS);
                query.filter(products::id.eq_any(linked.filter(below).select(links::product_id)))
            }
        };
    }
    if let Some(tags) = &filter.tags {
        query = query.filter(products::tags.overlaps_with(tags.clone()));
    }
    if let Some(from) = filter.created_from {
        query = query.filter(products::created_at.ge(from));
    }
    if let Some(to) = filter.created_to {
        query = query.filter(products::created_at.le(to));
    }
    query
}

/// Returns a statement for the ids of the products that a filter matches, for bulk operations.
#[must_use]
pub fn matching<'a>(scope: &Scope, filter: &ProductFilter) -> products::BoxedQuery<'a, Pg, SqlUuid> {
    filtered(scope, filter).select(products::id)
}

/// Returns the number of products that a filter matches.
///
/// # Errors
/// When the database can't be reached.
pub async fn count(connection: &mut AsyncPgConnection, scope: &Scope, filter: &ProductFilter) -> Result<i64> {
    Ok(filtered(scope, filter)
        .select(count_star())
        .get_result(connection)
        .await?)
}

/// The columns of a row without its metadata.
macro_rules! without_metadata {
    () => {
        (
            products::tenant_id,
            products::id,
            products::organization_id,
            products::title,
            products::subtitle,
            products::description,
            products::sku,
            products::handle,
            products::product_type,
            products::is_active,
            products::primary_currency_code,
            products::tags,
            sql::<Nullable<Jsonb>>("null::jsonb"),
            products::created_at,
            products::updated_at,
        )
    };
}

/// The columns of a [`BesideProduct`].
macro_rules! beside {
    () => {
        (
            sql::<Array<SqlUuid>>(
                "array(select l.category_id from catalog_product_categories l where l.tenant_id = catalog_products.tenant_id \
                 and l.product_id = catalog_products.id order by l.category_id)",
            ),
            sql::<BigInt>(
                "(select count(*) from catalog_variants v where v.tenant_id = catalog_products.tenant_id \
                 and v.product_id = catalog_products.id)",
            ),
        )
    };
}

/// What is shown beside a product: the ids of its categories, and the number of its variants.
type BesideProduct = (Vec<Uuid>, i64);

/// What lists show beside products.
#[derive(Debug)]
pub(crate) struct BesideProducts(Beside<BesideProduct>);

impl BesideProducts {
    pub(crate) fn new() -> Self {
        Self(Beside::new(MOST_KEPT))
    }
}

/// Most products of which ids and numbers are kept in memory.
const MOST_KEPT: u64 = 10_000;

fn summary((row, (category_ids, variant_count)): (Product, BesideProduct)) -> ProductSummary {
    ProductSummary {
        row,
        category_ids,
        variant_count,
        is_truncated: false,
    }
}

/// Returns a page and the total number of rows: two pipelined statements, one before them for a search, one for what is
/// shown beside the products, if one of them has changed, and one for the metadata.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &ProductFilter,
    order: Order,
    window: Window,
) -> Result<Page<ProductSummary>> {
    let scope = ctx.scope();
    let found = find_texts(ctx, connection, Product::KIND, filter.pattern.as_deref()).await?;
    let filter = &ProductFilter {
        found,
        ..filter.clone()
    };
    let keys = order.then("catalog_products.id");
    let rows = async |start: Start| {
        let page = start.of::<products::table, _>(filtered(scope, filter));
        let page = page.order(keys.expression()).select(without_metadata!());
        start.limited(page).load(&mut &*connection).await
    };
    let total = filtered(scope, filter).select(count_star());
    let id = |row: &Product| (row.tenant_id, row.id);
    let page: Page<Product> = window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await?;
    let kept = ctx.call().provided::<BesideProducts>()?;
    let load = async |missing: HashSet<Uuid>| {
        let shown = in_scope(scope).filter(products::id.one_of(missing.into_iter().collect::<Vec<_>>()));
        let shown = shown.select((products::id, beside!()));
        let found: Vec<(Uuid, BesideProduct)> = Prepared(shown).load(&mut &*connection).await?;
        Ok(found)
    };
    let mut beside = ctx.beside(&kept.0, page.items.iter().map(|row| row.id), load).await?;
    let mut page = page.map(|row| {
        let beside = beside.remove(&row.id).unwrap_or_default();
        summary((row, beside))
    });
    add_metadata(connection, &mut page.items).await?;
    Ok(page)
}

/// Adds the metadata of the products, as long as the page has space.
async fn add_metadata(connection: &AsyncPgConnection, summaries: &mut [ProductSummary]) -> Result<()> {
    let keys: Vec<(Uuid, Uuid)> = summaries
        .iter()
        .map(|summary| (summary.row.tenant_id, summary.row.id))
        .collect();
    let texts = read_documents(connection, "catalog_products", &["metadata"], &keys, METADATA_OF_PAGE).await?;
    for (summary, text) in summaries.iter_mut().zip(texts) {
        summary.is_truncated = text.is_none();
        let metadata = text.and_then(|[metadata, ..]| metadata);
        summary.row.metadata = metadata.map(|text| serde_json::from_str(&text)).transpose()?;
    }
    Ok(())
}

/// Returns the product with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<ProductSummary>> {
    let found = in_scope(scope)
        .filter(products::id.eq(id))
        .select((Product::as_select(), beside!()));
    let found: Option<(Product, BesideProduct)> = found
        .limit(1)
        .prepared()
        .get_result(&mut &*connection)
        .await
        .optional()?;
    Ok(found.map(summary))
}
