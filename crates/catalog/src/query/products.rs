//! Products.

use backoffice_core::db::Prepared;
use backoffice_core::list::{Order, Page, Window};
use backoffice_core::scope::{Owned, VisibleTenants, Within};
use backoffice_core::{Result, Scope, Timestamp, document};
use diesel::dsl::{Filter, count_star, exists, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, BigInt, Bool, Jsonb, Nullable, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgArrayExpressionMethods,
    PgTextExpressionMethods, QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::Sort;
use crate::model::ProductRow;
use crate::schema::{catalog_product_categories as links, catalog_products as products, catalog_variants as variants};

/// What narrows products; every member that is there must match, and an empty list matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProductFilter {
    /// Pattern for title, subtitle, sku, handle and the skus of the variants, its wildcards already literal.
    pub pattern: Option<String>,
    /// These ones.
    pub ids: Option<Vec<Uuid>>,
    /// Whether they are offered.
    pub is_active: Option<bool>,
    /// Of these types.
    pub product_types: Option<Vec<String>>,
    /// In any of these categories, or below them.
    pub category_ids: Option<Vec<Uuid>>,
    /// With any of these tags.
    pub tags: Option<Vec<String>>,
    /// Made then or later.
    pub created_from: Option<Timestamp>,
    /// Made then or earlier.
    pub created_to: Option<Timestamp>,
}

/// A product with what belongs to it elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct ProductSummary {
    /// The product.
    pub row: ProductRow,
    /// Its categories, by id.
    pub category_ids: Vec<Uuid>,
    /// How many variants it has.
    pub variant_count: i64,
    /// Whether the metadata was left out of a page because it has no room.
    pub is_truncated: bool,
}

/// Bytes of metadata that a page has room for: beside 100 products with the longest texts it stays below the largest response.
const METADATA_OF_PAGE: usize = 3 * 1024 * 1024;

type InScope = Filter<Filter<products::table, Owned<products::tenant_id>>, Within<products::organization_id>>;

/// Products that the caller sees.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    products::table
        .filter(scope.owns(products::tenant_id))
        .filter(scope.within(products::organization_id))
}

/// The categories and all below them; those named are ones that the caller sees. Nulls stand for no limit.
const BELOW: &str = "catalog_product_categories.category_id = any(array(with recursive below as ( \
    select c.tenant_id, c.id from catalog_categories c where c.id = any(";
const OF_TENANT: &str = ") and coalesce(c.tenant_id = ";
const OF_ORGANIZATIONS: &str = ", true) and coalesce(c.organization_id = any(";
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
    if let Some(ids) = &filter.ids {
        query = query.filter(products::id.eq_any(ids.clone()));
    }
    if let Some(is_active) = filter.is_active {
        query = query.filter(products::is_active.eq(is_active));
    }
    if let Some(types) = &filter.product_types {
        query = query.filter(products::product_type.eq_any(types.clone()));
    }
    if let Some(categories) = &filter.category_ids {
        let tenant = match scope.visible_tenants {
            VisibleTenants::Tenant(tenant) => Some(tenant),
            VisibleTenants::All => None,
        };
        let below = sql::<Bool>(BELOW)
            .bind::<Array<SqlUuid>, _>(categories.clone())
            .sql(OF_TENANT)
            .bind::<Nullable<SqlUuid>, _>(tenant)
            .sql(OF_ORGANIZATIONS)
            .bind::<Nullable<Array<SqlUuid>>, _>(scope.organizations.clone())
            .sql(DESCENDANTS);
        let linked = links::table
            .filter(scope.owns(links::tenant_id))
            .filter(below)
            .select(links::product_id);
        query = query.filter(products::id.eq_any(linked));
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

/// The ids of the products that a filter matches, for what is done to all of them at once.
#[must_use]
pub fn matching<'a>(scope: &Scope, filter: &ProductFilter) -> products::BoxedQuery<'a, Pg, SqlUuid> {
    filtered(scope, filter).select(products::id)
}

/// How many products a filter matches.
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

/// The ids of a product's categories and the number of its variants, in a statement about products.
macro_rules! line {
    ($row:expr) => {
        (
            $row,
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

fn line((row, category_ids, variant_count): (ProductRow, Vec<Uuid>, i64)) -> ProductSummary {
    ProductSummary {
        row,
        category_ids,
        variant_count,
        is_truncated: false,
    }
}

/// A page and the number of rows of all pages: two statements, sent together, and a third for the metadata.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    scope: &Scope,
    filter: &ProductFilter,
    sort: Sort,
    window: Window,
) -> Result<Page<ProductSummary>> {
    let query = filtered(scope, filter);
    let column = match sort.field {
        "title" => "catalog_products.title",
        "sku" => "catalog_products.sku",
        "updatedAt" => "catalog_products.updated_at",
        _ => "catalog_products.created_at",
    };
    let order = Order {
        column,
        nullable: sort.field == "sku",
        descending: sort.descending,
    };
    let page = query
        .order(order.by("catalog_products.id"))
        .limit(window.limit())
        .offset(window.offset())
        .select(line!(without_metadata!()));
    let total = filtered(scope, filter).select(count_star());
    let page = Prepared(page).load::<(ProductRow, Vec<Uuid>, i64)>(&mut &*connection);
    let total = Prepared(total).get_result::<i64>(&mut &*connection);
    let (rows, total) = futures_util::future::try_join(page, total).await?;
    let mut lines: Vec<ProductSummary> = rows.into_iter().map(line).collect();
    add_metadata(connection, &mut lines).await?;
    Ok(window.page(lines, total))
}

/// Adds the metadata of the products, as long as there is room.
async fn add_metadata(connection: &AsyncPgConnection, lines: &mut [ProductSummary]) -> Result<()> {
    let keys: Vec<(Uuid, Uuid)> = lines.iter().map(|line| (line.row.tenant_id, line.row.id)).collect();
    let texts = document::read_within(connection, "catalog_products", &["metadata"], &keys, METADATA_OF_PAGE).await?;
    for (line, text) in lines.iter_mut().zip(texts) {
        line.is_truncated = text.is_none();
        let metadata = text.and_then(|[metadata, ..]| metadata);
        line.row.metadata = metadata.map(|text| serde_json::from_str(&text)).transpose()?;
    }
    Ok(())
}

/// The product with this id, if the scope reads it.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<ProductSummary>> {
    let found = in_scope(scope)
        .filter(products::id.eq(id))
        .select(line!(ProductRow::as_select()));
    let found: Option<(ProductRow, Vec<Uuid>, i64)> = found.first(&mut &*connection).await.optional()?;
    Ok(found.map(line))
}
