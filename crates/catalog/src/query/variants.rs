//! Variants.

use backoffice_core::db::{DocumentTexts, KeyColumn, Prepared, Recurring, read_documents};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Jsonb, Nullable};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgTextExpressionMethods,
    QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::model::Variant;
use crate::schema::catalog_variants as variants;

/// Filters of variants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariantFilter {
    /// Only variants of this product.
    pub product_id: Option<Uuid>,
}

impl Sortable for Variant {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("position", "catalog_variants.position"),
        SortField::time("createdAt", "catalog_variants.created_at"),
    ];
}

type InScope = Filter<Filter<variants::table, Owned<variants::tenant_id>>, Within<variants::organization_id>>;

/// Returns the variants that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    variants::table
        .filter(scope.owns(variants::tenant_id))
        .filter(scope.within(variants::organization_id))
}

fn filtered<'a>(scope: &Scope, filter: &VariantFilter, request: &ListRequest) -> variants::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(
            variants::name
                .ilike(pattern.clone())
                .or(variants::sku.assume_not_null().ilike(pattern.clone()))
                .or(variants::barcode.assume_not_null().ilike(pattern.clone())),
        );
    }
    if let Some(ids) = &request.ids {
        query = query.filter(variants::id.one_of(ids.clone()));
    }
    if let Some(product) = filter.product_id {
        query = query.filter(variants::product_id.eq(product));
    }
    query
}

/// A variant in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = CatalogVariantItem)]
pub struct VariantSummary {
    /// The variant.
    #[serde(flatten)]
    pub row: Variant,
    /// `true` if the response has no space for the options, otherwise absent. The endpoint of a single variant returns them.
    #[serde(rename = "truncated", skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
}

/// Maximum bytes of options in a page.
const OPTIONS_OF_PAGE: usize = 6 * 1024 * 1024;
/// Maximum bytes of options in the response for a product with its variants.
const OPTIONS_OF_PRODUCT: usize = 2 * 1024 * 1024;
/// Maximum number of variants in the response for a product; the list has all of them.
const MOST_OF_PRODUCT: i64 = 1000;

/// The columns of a row without its options.
macro_rules! without_options {
    () => {
        (
            variants::tenant_id,
            variants::id,
            variants::organization_id,
            variants::product_id,
            variants::name,
            variants::sku,
            variants::barcode,
            sql::<Nullable<Jsonb>>("null::jsonb"),
            variants::position,
            variants::is_active,
            variants::created_at,
            variants::updated_at,
        )
    };
}

/// Adds the options, as long as the response has space.
async fn with_options(connection: &AsyncPgConnection, rows: Vec<Variant>, space: usize) -> Result<Vec<VariantSummary>> {
    let keys: Vec<(Uuid, Uuid)> = rows.iter().map(|row| (row.tenant_id, row.id)).collect();
    let texts = read_documents(connection, "catalog_variants", &["options"], &keys, space).await?;
    let summary = |(mut row, text): (Variant, Option<DocumentTexts>)| {
        let is_truncated = text.is_none();
        let options = text.and_then(|[options, ..]| options);
        row.options = options.map(|text| serde_json::from_str(&text)).transpose()?;
        Ok(VariantSummary { row, is_truncated })
    };
    rows.into_iter().zip(texts).map(summary).collect()
}

/// Returns a page and the total number of rows: two pipelined statements, and a third for the options.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &VariantFilter,
    request: &ListRequest,
) -> Result<Page<VariantSummary>> {
    let scope = ctx.scope();
    let window = request.window;
    let keys = request.order.then("catalog_variants.id");
    let rows = async |start: Start| {
        let page = start
            .of::<variants::table, _>(filtered(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(without_options!()))
            .load(&mut &*connection)
            .await
    };
    let total = filtered(scope, filter, request).select(count_star());
    let id = |row: &Variant| (row.tenant_id, row.id);
    let page = window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await?;
    let items = with_options(connection, page.items, OPTIONS_OF_PAGE).await?;
    Ok(window.page(items, page.total))
}

/// Returns the first 1000 variants of a product, by position.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_product(connection: &AsyncPgConnection, scope: &Scope, product: Uuid) -> Result<Vec<VariantSummary>> {
    let rows = in_scope(scope)
        .filter(variants::product_id.eq(product))
        .order((variants::position, variants::id))
        .limit(MOST_OF_PRODUCT)
        .select(without_options!())
        .prepared()
        .load(&mut &*connection)
        .await?;
    with_options(connection, rows, OPTIONS_OF_PRODUCT).await
}

/// Returns the variant with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Variant>> {
    let found = in_scope(scope).filter(variants::id.eq(id));
    let found = found.select(Variant::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
