//! Categories.

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
use crate::model::CategoryRow;
use crate::schema::{catalog_categories as categories, catalog_product_categories as links};

/// Filters of categories; an empty list matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryFilter {
    /// Pattern for name and slug, with wildcards of the input escaped.
    pub pattern: Option<String>,
    /// Only these categories.
    pub ids: Option<Vec<Uuid>>,
    /// Only categories directly below this one.
    pub parent_id: Option<Uuid>,
}

type InScope = Filter<Filter<categories::table, Owned<categories::tenant_id>>, Within<categories::organization_id>>;

/// Returns the categories that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    categories::table
        .filter(scope.owns(categories::tenant_id))
        .filter(scope.within(categories::organization_id))
}

fn filtered<'a>(scope: &Scope, filter: &CategoryFilter) -> categories::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &filter.pattern {
        query = query.filter(
            categories::name
                .ilike(pattern.clone())
                .or(categories::slug.ilike(pattern.clone())),
        );
    }
    if let Some(ids) = &filter.ids {
        query = query.filter(categories::id.eq_any(ids.clone()));
    }
    if let Some(parent) = filter.parent_id {
        // The categories below an invisible one must not reveal that it exists.
        let seen = in_scope(scope).filter(categories::id.eq(parent));
        let seen: categories::BoxedQuery<'a, Pg, diesel::sql_types::Uuid> = seen.into_boxed().select(categories::id);
        query = query
            .filter(categories::parent_id.eq(parent))
            .filter(categories::parent_id.assume_not_null().eq_any(seen));
    }
    query
}

/// Returns a page and the total number of rows: two pipelined statements.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    scope: &Scope,
    filter: &CategoryFilter,
    sort: Sort,
    window: Window,
) -> Result<Page<CategoryRow>> {
    let query = filtered(scope, filter);
    let query = match sort.field {
        "createdAt" => ordered!(query, sort.descending, categories::created_at, categories::id),
        _ => ordered!(query, sort.descending, categories::name, categories::id),
    };
    let page = query.limit(window.limit()).offset(window.offset());
    let page = Prepared(page.select(CategoryRow::as_select())).load(&mut &*connection);
    let total = Prepared(filtered(scope, filter).select(count_star())).get_result(&mut &*connection);
    let (items, total) = futures_util::future::try_join(page, total).await?;
    Ok(window.page(items, total))
}

/// Returns the categories of a product that are visible to the caller, by name.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_product(connection: &AsyncPgConnection, scope: &Scope, product: Uuid) -> Result<Vec<CategoryRow>> {
    let linked = links::table
        .filter(scope.owns(links::tenant_id))
        .filter(links::product_id.eq(product))
        .select(links::category_id);
    Ok(in_scope(scope)
        .filter(categories::id.eq_any(linked))
        .order((categories::name, categories::id))
        .select(CategoryRow::as_select())
        .load(&mut &*connection)
        .await?)
}

/// Returns the category with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<CategoryRow>> {
    let found = in_scope(scope).filter(categories::id.eq(id));
    let found = found.select(CategoryRow::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
