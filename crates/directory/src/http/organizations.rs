//! Organizations.

use std::collections::{HashMap, HashSet};

use backoffice_core::http::{Created, CreatedId, Done, Id, Identified, Json, Query, Routes, requires};
use backoffice_core::list::{ById, Page, PageQuery, search_pattern};
use backoffice_core::{RequestContext, Result, Timestamp, Violations, crud};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::commands::{OrganizationInput, OrganizationPatch, UpdateOrganization};
use crate::model::Organization;
use crate::query::{OrganizationFilter, OrganizationSummary, Status, organization_tree, page_of_organizations};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/directory/organizations";
    routes
        .get(path, requires(&[acl::ORGANIZATIONS_VIEW]), list_organizations)
        .across_tenants()
        .shows(&["directory.organization", "directory.tenant", "auth.user"])
        .about("List organizations");
    routes
        .post(path, requires(&[acl::ORGANIZATIONS_MANAGE]), create_organization)
        .across_tenants()
        .about("Create an organization")
        .rejects(&[409]);
    routes
        .put(path, requires(&[acl::ORGANIZATIONS_MANAGE]), update_organization)
        .across_tenants()
        .about("Change an organization")
        .rejects(&[404, 409]);
    routes
        .delete(path, requires(&[acl::ORGANIZATIONS_MANAGE]), delete_organization)
        .across_tenants()
        .about("Delete an organization")
        .rejects(&[404, 409]);
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct OrganizationQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Part of the name or slug.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Only the direct children of this organization.
    parent_id: Option<Uuid>,
    /// Only those of this tenant.
    tenant_id: Option<Uuid>,
    /// `active`, `inactive` or `all` (default).
    #[param(inline)]
    status: Option<Status>,
    /// `list` (default), or `tree`: nested and not in pages.
    #[param(inline)]
    view: Option<View>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum View {
    List,
    Tree,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OrganizationItem {
    id: Uuid,
    tenant_id: Uuid,
    name: String,
    slug: String,
    logo_url: Option<String>,
    parent_id: Option<Uuid>,
    depth: i32,
    path_label: String,
    children_count: i64,
    is_active: bool,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Only with `view=tree`, otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion, nullable = false)]
    children: Option<Vec<OrganizationItem>>,
}

impl OrganizationItem {
    fn new(summary: OrganizationSummary) -> Self {
        let OrganizationSummary {
            row,
            depth,
            path_label,
            children_count,
        } = summary;
        Self {
            id: row.id,
            tenant_id: row.tenant_id,
            name: row.name,
            slug: row.slug,
            logo_url: row.logo_url,
            parent_id: row.parent_id,
            depth,
            path_label,
            children_count,
            is_active: row.is_active,
            created_at: row.created_at,
            updated_at: row.updated_at,
            children: None,
        }
    }
}

impl OrganizationQuery {
    fn filter(&self, by_id: &ById) -> Result<OrganizationFilter> {
        let mut violations = Violations::default();
        let filter = OrganizationFilter {
            ids: violations.keep(by_id.requested()),
            parent_id: self.parent_id,
            tenant_id: self.tenant_id,
            status: self.status.unwrap_or_default(),
            search: violations.keep(search_pattern("search", self.search.as_deref())),
        };
        violations.check().map(|()| filter)
    }
}

async fn list_organizations(
    ctx: RequestContext,
    query: Query<OrganizationQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<OrganizationItem>>> {
    let query = query.0;
    let mut violations = Violations::default();
    let window = violations.keep(PageQuery::new(query.page, query.page_size).window());
    let filter = violations.keep(query.filter(&by_id.0));
    violations.check()?;
    let mut connection = ctx.read().await?;
    if query.view == Some(View::Tree) {
        ctx.read_version_first(&connection).await?;
        let nodes = organization_tree(&mut connection, &ctx, &filter).await?;
        return Ok(Json(whole(nodes)));
    }
    let page = page_of_organizations(&mut connection, &ctx, &filter, window).await?;
    Ok(Json(page.map(OrganizationItem::new)))
}

/// Returns the whole tree as a single page.
fn whole(nodes: Vec<OrganizationSummary>) -> Page<OrganizationItem> {
    let total = nodes.len();
    Page {
        items: nested(nodes),
        total: i64::try_from(total).unwrap_or(i64::MAX),
        page: 1,
        page_size: u32::try_from(total.max(1)).unwrap_or(u32::MAX),
        total_pages: 1,
    }
}

/// Nests each node below its parent; a node whose parent is not among `nodes` becomes a root. Siblings keep their order.
fn nested(nodes: Vec<OrganizationSummary>) -> Vec<OrganizationItem> {
    let ids: HashSet<Uuid> = nodes.iter().map(|node| node.row.id).collect();
    let mut below: HashMap<Option<Uuid>, Vec<OrganizationItem>> = HashMap::new();
    for node in nodes {
        let parent = node.row.parent_id.filter(|parent| ids.contains(parent));
        below.entry(parent).or_default().push(OrganizationItem::new(node));
    }
    take(&mut below, None)
}

/// Takes the children of `parent` with their descendants; the recursion is as deep as the tree.
fn take(below: &mut HashMap<Option<Uuid>, Vec<OrganizationItem>>, parent: Option<Uuid>) -> Vec<OrganizationItem> {
    let mut items = below.remove(&parent).unwrap_or_default();
    for item in &mut items {
        item.children = Some(take(below, Some(item.id)));
    }
    items
}

async fn create_organization(ctx: RequestContext, body: Json<OrganizationInput>) -> Result<Created<CreatedId>> {
    crud::create::<Organization>(&ctx, body.0).await
}

async fn update_organization(
    ctx: RequestContext,
    body: Identified<OrganizationInput, OrganizationPatch>,
) -> Result<Json<Done>> {
    let command = UpdateOrganization::new(body.id, body.fields)?;
    ctx.execute(&command, |_| Json(Done::OK)).await
}

async fn delete_organization(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    crud::delete::<Organization>(&ctx, query.0.id).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: u128, parent: Option<u128>) -> OrganizationSummary {
        let at = Timestamp::parse("2026-11-20T08:15:30.123Z").expect("an instant");
        OrganizationSummary {
            row: Organization {
                tenant_id: Uuid::from_u128(1),
                id: Uuid::from_u128(id),
                name: id.to_string(),
                slug: id.to_string(),
                parent_id: parent.map(Uuid::from_u128),
                logo_url: None,
                is_active: true,
                created_at: at,
                updated_at: at,
            },
            depth: 0,
            path_label: String::new(),
            children_count: 0,
        }
    }

    #[test]
    fn nodes_hang_below_their_parents_in_their_order() {
        let page = whole(vec![
            node(4, Some(2)),
            node(2, None),
            node(3, Some(2)),
            node(5, Some(9)),
        ]);

        let names = |items: &[OrganizationItem]| items.iter().map(|item| item.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&page.items), ["2", "5"]);
        assert_eq!(names(page.items[0].children.as_ref().expect("children")), ["4", "3"]);
        assert_eq!(page.total, 4);
    }
}
