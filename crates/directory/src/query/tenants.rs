//! The list of tenants.

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Page, Window};
use backoffice_core::{RequestContext, Result, Scope};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, PgTextExpressionMethods, QueryDsl, SelectableHelper, dsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Tenant, tenants_in_scope};
use crate::schema::{directory_organizations as organizations, directory_tenants as tenants};

/// Sort field of the list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TenantSort {
    /// The name.
    #[default]
    Name,
    /// Time of creation.
    CreatedAt,
    /// Time of the last change.
    UpdatedAt,
}

/// Filter and order of the list.
#[derive(Debug, Clone, Default)]
pub struct TenantFilter {
    /// Only these ids; an empty list matches nothing.
    pub ids: Option<Vec<Uuid>>,
    /// Only tenants in this state.
    pub is_active: Option<bool>,
    /// Pattern for the name, with wildcards of the input escaped.
    pub search: Option<String>,
    /// The order.
    pub sort: TenantSort,
    /// Whether the order is descending.
    pub descending: bool,
}

/// A tenant with the number of its live organizations.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantSummary {
    /// The row.
    pub row: Tenant,
    /// Number of its live organizations.
    pub organizations: i64,
}

fn filtered<'a>(scope: &'a Scope, filter: &'a TenantFilter) -> dsl::IntoBoxed<'a, tenants::table, Pg> {
    let mut query = tenants_in_scope(scope).into_boxed();
    if let Some(ids) = &filter.ids {
        query = query.filter(tenants::id.one_of(ids));
    }
    if let Some(is_active) = filter.is_active {
        query = query.filter(tenants::is_active.eq(is_active));
    }
    if let Some(pattern) = &filter.search {
        query = query.filter(tenants::name.ilike(pattern));
    }
    query
}

/// Returns one page and the number of rows of all pages: one statement, two for a page past the end.
///
/// # Errors
/// If the database can't be reached.
pub async fn page_of_tenants(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    filter: &TenantFilter,
    window: Window,
) -> Result<Page<TenantSummary>> {
    let scope = ctx.scope();
    let live_organizations = organizations::table
        .filter(organizations::tenant_id.eq(tenants::tenant_id))
        .filter(organizations::deleted_at.is_null())
        .select(dsl::count_star());
    let query = filtered(scope, filter);
    let query = match (filter.sort, filter.descending) {
        (TenantSort::Name, false) => query.order(tenants::name.asc()),
        (TenantSort::Name, true) => query.order(tenants::name.desc()),
        (TenantSort::CreatedAt, false) => query.order(tenants::created_at.asc()),
        (TenantSort::CreatedAt, true) => query.order(tenants::created_at.desc()),
        (TenantSort::UpdatedAt, false) => query.order(tenants::updated_at.asc()),
        (TenantSort::UpdatedAt, true) => query.order(tenants::updated_at.desc()),
    };
    let rows = query
        .then_order_by(tenants::id)
        .select((Tenant::as_select(), live_organizations.single_value()));
    let total = filtered(scope, filter).select(dsl::count_star());
    let rows = window.limited(rows).load(&mut &*connection);
    let page: Page<(Tenant, Option<i64>)> = window
        .fetch(ctx, connection, rows, || Prepared(total).get_result(&mut &*connection))
        .await?;
    Ok(page.map(|(row, organizations)| TenantSummary {
        row,
        organizations: organizations.unwrap_or_default(),
    }))
}
