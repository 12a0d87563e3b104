//! Prices.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::Price;
use crate::schema::catalog_prices as prices;

/// Filters of prices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PriceFilter {
    /// Only prices of this product, its variants included.
    pub product_id: Option<Uuid>,
    /// Only prices of this variant.
    pub variant_id: Option<Uuid>,
}

impl Sortable for Price {
    const SORT_FIELDS: &'static [SortField] = &[SortField::time("createdAt", "catalog_prices.created_at")];
}

type InScope = Filter<Filter<prices::table, Owned<prices::tenant_id>>, Within<prices::organization_id>>;

/// Returns the prices that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    prices::table
        .filter(scope.owns(prices::tenant_id))
        .filter(scope.within(prices::organization_id))
}

fn filtered<'a>(scope: &Scope, filter: &PriceFilter, request: &ListRequest) -> prices::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(
            prices::kind
                .ilike(pattern.clone())
                .or(prices::currency_code.ilike(pattern.clone())),
        );
    }
    if let Some(ids) = &request.ids {
        query = query.filter(prices::id.one_of(ids.clone()));
    }
    if let Some(product) = filter.product_id {
        query = query.filter(prices::product_id.eq(product));
    }
    if let Some(variant) = filter.variant_id {
        query = query.filter(prices::variant_id.eq(variant));
    }
    query
}

/// Returns a page and the total number of rows: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &PriceFilter,
    request: &ListRequest,
) -> Result<Page<Price>> {
    let scope = ctx.scope();
    let window = request.window;
    let keys = request.order.then("catalog_prices.id");
    let rows = async |start: Start| {
        let page = start
            .of::<prices::table, _>(filtered(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(Price::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = filtered(scope, filter, request).select(count_star());
    let id = |row: &Price| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Maximum number of prices in the response for a product; the list has all of them.
const MOST_OF_PRODUCT: i64 = 5000;

/// Returns the prices of a product and its variants, the oldest first, at most 5000.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_product(connection: &AsyncPgConnection, scope: &Scope, product: Uuid) -> Result<Vec<Price>> {
    Ok(in_scope(scope)
        .filter(prices::product_id.eq(product))
        .order((prices::created_at, prices::id))
        .limit(MOST_OF_PRODUCT)
        .select(Price::as_select())
        .load(&mut &*connection)
        .await?)
}

/// Returns the price with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Price>> {
    let found = in_scope(scope).filter(prices::id.eq(id));
    let found = found.select(Price::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
