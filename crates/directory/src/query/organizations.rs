//! The list and the tree of organizations.

use std::collections::HashMap;
use std::sync::Arc;

use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Keys, Page, Start, Window};
use backoffice_core::{RequestContext, Result};
use diesel::pg::Pg;
use diesel::{BoolExpressionMethods, ExpressionMethods, PgTextExpressionMethods, QueryDsl, SelectableHelper, dsl};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::facts::{self, Facts};
use super::{Organization, in_live_tenant, organizations_in_scope};
use crate::schema::directory_organizations as organizations;

/// Filter by the state of organizations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// All live ones.
    #[default]
    All,
    /// Active ones, whose users may sign in.
    Active,
    /// Inactive ones.
    Inactive,
}

/// Filter of the list.
#[derive(Debug, Clone, Default)]
pub struct OrganizationFilter {
    /// Only these ids; an empty list matches nothing.
    pub ids: Option<Vec<Uuid>>,
    /// Only the direct children of this organization.
    pub parent_id: Option<Uuid>,
    /// Only organizations of this tenant.
    pub tenant_id: Option<Uuid>,
    /// Only organizations in this state.
    pub status: Status,
    /// Pattern for name or slug, with wildcards of the input escaped.
    pub search: Option<String>,
}

/// An organization with its position in the part of the tree that the caller sees.
#[derive(Debug, Clone, PartialEq)]
pub struct OrganizationSummary {
    /// The row; `parent_id` is `None` when the parent is not visible.
    pub row: Organization,
    /// Steps to the topmost visible ancestor.
    pub depth: i32,
    /// Names from that ancestor down, joined by ` / `.
    pub path_label: String,
    /// Number of live direct children.
    pub children_count: i64,
}

type Boxed<'a> = dsl::IntoBoxed<'a, organizations::table, Pg>;

fn filtered<'a>(ctx: &'a RequestContext, filter: &'a OrganizationFilter) -> Boxed<'a> {
    let scope = ctx.scope();
    let mut query = organizations_in_scope(scope)
        .filter(scope.within(organizations::id))
        .filter(in_live_tenant(ctx, organizations::tenant_id))
        .into_boxed();
    if let Some(ids) = &filter.ids {
        query = query.filter(organizations::id.one_of(ids));
    }
    if let Some(parent) = filter.parent_id {
        query = query
            .filter(organizations::parent_id.eq(parent))
            .filter(scope.within(organizations::parent_id));
    }
    if let Some(tenant) = filter.tenant_id {
        query = query.filter(organizations::tenant_id.eq(tenant));
    }
    match filter.status {
        Status::All => {}
        Status::Active => query = query.filter(organizations::is_active),
        Status::Inactive => query = query.filter(dsl::not(organizations::is_active)),
    }
    if let Some(pattern) = &filter.search {
        query = query.filter(
            organizations::name
                .ilike(pattern)
                .or(organizations::slug.ilike(pattern)),
        );
    }
    query
}

/// Returns one page, by name, and the number of rows of all pages.
///
/// # Errors
/// If the database can't be reached.
pub async fn page_of_organizations(
    connection: &mut AsyncPgConnection,
    ctx: &RequestContext,
    filter: &OrganizationFilter,
    window: Window,
) -> Result<Page<OrganizationSummary>> {
    let shared = &*connection;
    let keys = Keys::ascending("directory_organizations.name", "directory_organizations.id");
    let rows = async |start: Start| {
        let page = start.of::<organizations::table, _>(filtered(ctx, filter));
        let page = page.order(keys.expression()).select(Organization::as_select());
        start.limited(page).load(&mut &*shared).await
    };
    let total = filtered(ctx, filter).select(dsl::count_star());
    let id = |row: &Organization| (row.tenant_id, row.id);
    let page: Page<Organization> = window
        .fetch_from(ctx, shared, keys, id, rows, || {
            Prepared(total).get_result(&mut &*shared)
        })
        .await?;
    let facts = facts::of_page(shared, ctx, &page.items).await?;
    Ok(page.map_items(|rows| listed(rows, &facts)))
}

/// Returns all rows of the filter, by name: two statements.
///
/// # Errors
/// If the database can't be reached.
pub async fn organization_tree(
    connection: &mut AsyncPgConnection,
    ctx: &RequestContext,
    filter: &OrganizationFilter,
) -> Result<Vec<OrganizationSummary>> {
    let rows: Vec<Organization> = filtered(ctx, filter)
        .order((organizations::name, organizations::id))
        .select(Organization::as_select())
        .load(connection)
        .await?;
    let facts = facts::load(connection, ctx.scope(), rows.iter()).await?;
    Ok(listed(rows, &facts))
}

fn listed(rows: Vec<Organization>, facts: &HashMap<Uuid, Arc<Facts>>) -> Vec<OrganizationSummary> {
    rows.into_iter()
        .filter_map(|mut row| {
            // A row that was deleted between the two statements has no facts.
            let facts = facts.get(&row.id)?;
            row.parent_id = row.parent_id.filter(|_| facts.depth > 0);
            Some(OrganizationSummary {
                row,
                depth: facts.depth,
                path_label: facts.path_label.clone(),
                children_count: facts.children_count,
            })
        })
        .collect()
}
