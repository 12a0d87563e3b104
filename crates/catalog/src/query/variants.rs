//! Variants.

use backoffice_core::db::Prepared;
use backoffice_core::list::{Page, Window};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{Result, Scope};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgTextExpressionMethods,
    QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::{Sort, ordered};
use crate::model::VariantRow;
use crate::schema::catalog_variants as variants;

/// What narrows variants; an empty list matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VariantFilter {
    /// Pattern for name, sku and barcode, its wildcards already literal.
    pub pattern: Option<String>,
    /// These ones.
    pub ids: Option<Vec<Uuid>>,
    /// Of this product.
    pub product_id: Option<Uuid>,
}

type InScope = Filter<Filter<variants::table, Owned<variants::tenant_id>>, Within<variants::organization_id>>;

/// Variants that the caller sees.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    variants::table
        .filter(scope.owns(variants::tenant_id))
        .filter(scope.within(variants::organization_id))
}

fn narrowed<'a>(scope: &Scope, filter: &VariantFilter) -> variants::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &filter.pattern {
        query = query.filter(
            variants::name
                .ilike(pattern.clone())
                .or(variants::sku.assume_not_null().ilike(pattern.clone()))
                .or(variants::barcode.assume_not_null().ilike(pattern.clone())),
        );
    }
    if let Some(ids) = &filter.ids {
        query = query.filter(variants::id.eq_any(ids.clone()));
    }
    if let Some(product) = filter.product_id {
        query = query.filter(variants::product_id.eq(product));
    }
    query
}

/// A page and the number of rows of all pages: two statements, sent together.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    scope: &Scope,
    filter: &VariantFilter,
    sort: Sort,
    window: Window,
) -> Result<Page<VariantRow>> {
    let query = narrowed(scope, filter);
    let query = match sort.field {
        "createdAt" => ordered!(query, sort.descending, variants::created_at, variants::id),
        _ => ordered!(query, sort.descending, variants::position, variants::id),
    };
    let page = query.limit(window.limit()).offset(window.offset());
    let page = Prepared(page.select(VariantRow::as_select())).load(&mut &*connection);
    let total = Prepared(narrowed(scope, filter).select(count_star())).get_result(&mut &*connection);
    let (items, total) = futures_util::future::try_join(page, total).await?;
    Ok(window.page(items, total))
}

/// The variants of a product, in their order.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_product(connection: &AsyncPgConnection, scope: &Scope, product: Uuid) -> Result<Vec<VariantRow>> {
    Ok(in_scope(scope)
        .filter(variants::product_id.eq(product))
        .order((variants::position, variants::id))
        .select(VariantRow::as_select())
        .load(&mut &*connection)
        .await?)
}

/// The variant with this id, if the scope reads it.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<VariantRow>> {
    let found = in_scope(scope).filter(variants::id.eq(id));
    let found = found.select(VariantRow::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
