//! Categories.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgTextExpressionMethods,
    QueryDsl, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::model::Category;
use crate::schema::{catalog_categories as categories, catalog_product_categories as links};

/// Filters of categories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryFilter {
    /// Only categories directly below this one.
    pub parent_id: Option<Uuid>,
}

impl Sortable for Category {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::new("name", "catalog_categories.name"),
        SortField::time("createdAt", "catalog_categories.created_at"),
    ];
}

type InScope = Filter<Filter<categories::table, Owned<categories::tenant_id>>, Within<categories::organization_id>>;

/// Returns the categories that are visible to the caller.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    categories::table
        .filter(scope.owns(categories::tenant_id))
        .filter(scope.within(categories::organization_id))
}

fn filtered<'a>(scope: &Scope, filter: &CategoryFilter, request: &ListRequest) -> categories::BoxedQuery<'a, Pg> {
    let mut query = in_scope(scope).into_boxed();
    if let Some(pattern) = &request.pattern {
        query = query.filter(
            categories::name
                .ilike(pattern.clone())
                .or(categories::slug.ilike(pattern.clone())),
        );
    }
    if let Some(ids) = &request.ids {
        query = query.filter(categories::id.one_of(ids.clone()));
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
    ctx: &RequestContext,
    filter: &CategoryFilter,
    request: &ListRequest,
) -> Result<Page<Category>> {
    let scope = ctx.scope();
    let window = request.window;
    let keys = request.order.then("catalog_categories.id");
    let rows = async |start: Start| {
        let page = start
            .of::<categories::table, _>(filtered(scope, filter, request))
            .order(keys.expression());
        start
            .limited(page.select(Category::as_select()))
            .load(&mut &*connection)
            .await
    };
    let total = filtered(scope, filter, request).select(count_star());
    let id = |row: &Category| (row.tenant_id, row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

/// Returns the categories of a product that are visible to the caller, by name.
///
/// # Errors
/// When the database can't be reached.
pub async fn of_product(connection: &AsyncPgConnection, scope: &Scope, product: Uuid) -> Result<Vec<Category>> {
    let linked = links::table
        .filter(scope.owns(links::tenant_id))
        .filter(links::product_id.eq(product))
        .select(links::category_id);
    Ok(in_scope(scope)
        .filter(categories::id.eq_any(linked))
        .order((categories::name, categories::id))
        .select(Category::as_select())
        .load(&mut &*connection)
        .await?)
}

/// Returns the category with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<Category>> {
    let found = in_scope(scope).filter(categories::id.eq(id));
    let found = found.select(Category::as_select());
    Ok(found.first(&mut &*connection).await.optional()?)
}
