//! Prices.

use backoffice_core::db::Prepared;
use backoffice_core::list::{Page, Window};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{Result, Scope};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::{Sort, ordered};
use crate::model::PriceRow;
use crate::schema::catalog_prices as prices;

/// What narrows prices; an empty list matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceFilter {
    /// Pattern for kind and currency, its wildcards already literal.
    pub pattern: Option<String>,
    /// These ones.
    pub ids: Option<Vec<Uuid>>,
    /// Of this product, its variants included.
    pub product_id: Option<Uuid>,
    /// Of this variant.
    pub variant_id: Option<Uuid>,
}

type InScope = Filter<Filter<prices::table, Owned<prices::tenant_id>>, Within<prices::organization_id>>;

/// Prices that the caller sees.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    prices::table
        .filter(scope.owns(prices::tenant_id))
        .filter(scope.within(prices::organization_id))
}

fn filtered<'a>(scope: &Scope, filter: &PriceFilter) -> prices::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &filter.pattern {
        query = query.filter(
            prices::kind
                .ilike(pattern.clone())
                .or(prices::currency_code.ilike(pattern.clone())),
        );
    }
    if let Some(ids) = &filter.ids {
        query = query.filter(prices::id.eq_any(ids.clone()));
    }
    if let Some(product) = filter.product_id {
        query = query.filter(prices::product_id.eq(product));
    }
    if let Some(variant) = filter.variant_id {
        query = query.filter(prices::variant_id.eq(variant));
    }
    query
}

/// A page, by the time of making, and the number of rows of all pages: two statements, sent together.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    scope: &Scope,
    filter: &PriceFilter,
    sort: Sort,
    window: Window,
) -> Result<Page<PriceRow>> {
    let page = ordered!(filtered(scope, filter), sort.descending, prices::created_at, prices::id);
    let page = page.limit(window.limit()).offset(window.offset());
    let page = Prepared(page.select(PriceRow::as_select())).load(&mut &*connection);
    let total = Prepared(filtered(scope, filter).select(count_star())).get_result(&mut &*connection);
    let (items, total) = futures_util::future::try_join(page, total).await?;
    Ok(window.page(items, total))
}

/// Prices that are shown with their product; the list has all of them.
const MOST_OF_PRODUCT: i64 = 5000;

/// The prices of a product and its variants, the oldest first, no more than 5000.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_product(connection: &AsyncPgConnection, scope: &Scope, product: Uuid) -> Result<Vec<PriceRow>> {
    Ok(in_scope(scope)
        .filter(prices::product_id.eq(product))
        .order((prices::created_at, prices::id))
        .limit(MOST_OF_PRODUCT)
        .select(PriceRow::as_select())
        .load(&mut &*connection)
        .await?)
}

/// The price with this id, if the scope reads it.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<PriceRow>> {
    let found = in_scope(scope).filter(prices::id.eq(id));
    let found = found.select(PriceRow::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
