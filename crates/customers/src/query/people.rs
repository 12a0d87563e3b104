//! Reads of people.

use backoffice_core::db::Prepared;
use backoffice_core::list::{Fragment, ListRequest, Page, SortField, Sortable, Start};
use backoffice_core::scope::{Owned, Within};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::dsl::{Filter, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Bool, Nullable, Text, Uuid as SqlUuid};
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
use crate::model::{PERSON, Person};
use crate::schema::customers_people as people;

/// A condition on people.
type Condition = Fragment<people::table, Bool>;

/// People of the visible tenants, in the visible organizations.
pub(crate) type InScope = Filter<Filter<people::table, Owned<people::tenant_id>>, Within<people::organization_id>>;

/// Returns the people of a scope. Every statement on people starts here.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    people::table
        .filter(scope.owns(people::tenant_id))
        .filter(scope.within(people::organization_id))
}

impl Sortable for Person {
    const SORT_FIELDS: &'static [SortField] = &[
        SortField::time("createdAt", "customers_people.created_at"),
        SortField::new("updatedAt", "customers_people.updated_at"),
        SortField::new("displayName", "customers_people.display_name"),
    ];
}

/// A person as clients read it.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonItem {
    /// The row.
    #[serde(flatten)]
    #[diesel(embed)]
    pub row: Person,
    /// Name of the owner.
    pub owner_name: Option<String>,
    /// Name of the company, if it is visible to the caller.
    pub company_name: Option<String>,
}

/// Returns the person with this id, if they are visible.
///
/// # Errors
/// When the database can't be reached.
pub async fn find(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<PersonItem>> {
    let statement = in_scope(scope).filter(people::id.eq(id)).select((
        Person::as_select(),
        owner_name("customers_people"),
        company_name(scope),
    ));
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns a page of people and their total: two pipelined statements, and before them one for a search.
///
/// # Errors
/// When the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &PartyFilter,
    request: &ListRequest,
) -> Result<Page<PersonItem>> {
    let scope = ctx.scope();
    let request = &request.find_texts(ctx, connection, PERSON).await?;
    let window = request.window;
    let filtered = || in_scope(scope).filter(matching(filter, request)).into_boxed::<Pg>();
    let keys = request.order.then("customers_people.id");
    let rows = async |start: Start| {
        let shown = (Person::as_select(), owner_name("customers_people"), company_name(scope));
        let page = start.of::<people::table, _>(filtered()).order(keys.expression());
        if start.is_near() {
            return start.limited(page.select(shown)).load(&mut &*connection).await;
        }
        let page = page.limit(window.limit()).offset(start.offset());
        let rows = in_scope(scope)
            .filter(people::id.eq_any(page.select(people::id)))
            .order(keys.expression());
        Prepared(rows.select(shown)).load(&mut &*connection).await
    };
    let total = filtered().select(count_star());
    let id = |item: &PersonItem| (item.row.tenant_id, item.row.id);
    window
        .fetch_from(ctx, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await
}

const COLUMNS: Columns = Columns {
    id: "customers_people.id",
    owner: "customers_people.owner_user_id",
    company: Some("customers_people.company_id"),
    is_active: "customers_people.is_active",
};

fn matching(filter: &PartyFilter, request: &ListRequest) -> Condition {
    let all = filter.condition(request, &COLUMNS);
    let Some(pattern) = &request.pattern else { return all };
    let found = people::display_name
        .ilike(pattern.clone())
        .or(people::first_name.ilike(pattern.clone()))
        .or(people::last_name.ilike(pattern.clone()))
        .or(people::primary_email.ilike(pattern.clone()).assume_not_null());
    Box::new(all.and(found))
}

/// Returns an expression for the name of the company; null if its organization is not visible.
fn company_name(scope: &Scope) -> Fragment<people::table, Nullable<Text>> {
    let organizations = scope.organizations.clone();
    Box::new(
        sql::<Nullable<Text>>(
            "(select c.display_name from customers_companies c \
              where c.tenant_id = customers_people.tenant_id and c.id = customers_people.company_id \
              and coalesce(c.organization_id = any(",
        )
        .bind::<Nullable<Array<SqlUuid>>, _>(organizations)
        .sql("), true))"),
    )
}
