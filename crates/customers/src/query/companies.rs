//! Reads of companies.

use backoffice_core::db::Prepared;
use backoffice_core::list::{Fragment, ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, count_star};
use diesel::pg::Pg;
use diesel::sql_types::Bool;
use diesel::{
    BoolExpressionMethods, ExpressionMethods, NullableExpressionMethods, OptionalExtension, PgTextExpressionMethods,
    QueryDsl, Queryable, SelectableHelper,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::parties::{Columns, PartyFilter};
use crate::foreign::owner_name;
use crate::model::{COMPANY, Company};
use crate::schema::customers_companies as companies;

/// A condition on companies.
type Condition = Fragment<companies::table, Bool>;

/// Companies of the visible tenants, in the visible organizations.
pub(crate) type InScope =
    Filter<Filter<companies::table, Owned<companies::tenant_id>>, Within<companies::organization_id>>;

/// Returns the companies of a scope. Every statement on companies starts here.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    companies::table
        .filter(scope.owns(companies::tenant_id))
        .filter(scope.within(companies::organization_id))
}

impl Sortable for Company {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "customers_companies.created_at"),
        SortField::new("updatedAt", "customers_companies.updated_at"),
        SortField::new("displayName", "customers_companies.display_name"),
    ];
}

/// A company as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompanyItem {
    /// The row.
    #[serde(flatten)]
    #[diesel(embed)]
    pub row: Company,
    /// Name of the owner.
    pub owner_name: Option<String>,
}

/// Returns the company with this id, if it is visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<CompanyItem>> {
    let statement = in_scope(scope)
        .filter(companies::id.eq(id))
        .select((Company::as_select(), owner_name("customers_companies")));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns a page of companies and their total: two pipelined statements, and before them one for a search.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &PartyFilter,
    request: &ListRequest,
) -> Result<Page<CompanyItem>> {
    let scope = ctx.scope();
    let request = &request.find_texts(ctx, connection, COMPANY).await?;
    let window = request.window;
    let filtered = || in_scope(scope).filter(matching(filter, request)).into_boxed::<Pg>();
    let keys = request.order.then("customers_companies.id");
    let rows = async |start: Start| {
        let shown = (Company::as_select(), owner_name("customers_companies"));
        let page = start.of::<companies::table, _>(filtered()).order(keys.expression());
        if start.is_near() {
            return start.limited(page.select(shown)).load(&mut &*connection).await;
        }
        let page = page.limit(window.limit()).offset(start.offset());
        let rows = in_scope(scope)
            .filter(companies::id.eq_any(page.select(companies::id)))
            .order(keys.expression());
        Prepared(rows.select(shown)).load(&mut &*connection).await
    };
    let total = filtered().select(count_star());
    let id = |item: &CompanyItem| (item.row.tenant_id, item.row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

const COLUMNS: Columns = Columns {
    id: "customers_companies.id",
    owner: "customers_companies.owner_user_id",
    company: None,
    is_active: "customers_companies.is_active",
};

fn matching(filter: &PartyFilter, request: &ListRequest) -> Condition {
    let all = filter.condition(request, &COLUMNS);
    let Some(pattern) = &request.pattern else { return all };
    let found = companies::display_name
        .ilike(pattern.clone())
        .or(companies::legal_name.ilike(pattern.clone()).assume_not_null())
        .or(companies::primary_email.ilike(pattern.clone()).assume_not_null());
    Box::new(all.and(found))
}
