//! Tenants and organizations that a caller may select with the headers and cookies of the selection.

use std::collections::{HashMap, HashSet};

use backoffice_core::http::{Access, Json, Routes, wire_tenant};
use backoffice_core::{RequestContext, Result, Scope};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::model::Organization;
use crate::query::{organizations_of_tenant, tenants_to_select};

/// Largest number of tenants offered; further ones are found with the list of tenants.
const MOST_TENANTS: i64 = 1000;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/directory/organization-switcher",
            Access::Authenticated,
            get_organization_switcher,
        )
        .across_tenants()
        .about("List the organizations and tenants that the caller may select");
}

/// Tenants and organizations that the caller may select.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct OrganizationSwitcher {
    /// The organizations of the tenant that the caller may access, nested; empty unless a single tenant is selected.
    items: Vec<SwitcherItem>,
    /// The selected organization.
    selected_id: Option<Uuid>,
    /// Whether the caller may change organizations.
    can_manage: bool,
    /// Whether the caller may access every organization of the tenant.
    can_view_all_organizations: bool,
    /// The selected tenant, or the caller's own.
    tenant_id: Option<Uuid>,
    /// The first 1000 tenants by name; only for super administrators.
    tenants: Vec<SwitcherTenant>,
    is_super_admin: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SwitcherItem {
    id: Uuid,
    name: String,
    /// Steps to the topmost organization that the caller may access.
    depth: u32,
    /// Whether the organization may be selected, which requires that it is active.
    selectable: bool,
    is_active: bool,
    #[schema(no_recursion)]
    children: Vec<SwitcherItem>,
}

#[derive(Debug, Serialize, ToSchema)]
struct SwitcherTenant {
    id: Uuid,
    name: String,
}

async fn get_organization_switcher(ctx: RequestContext) -> Result<Json<OrganizationSwitcher>> {
    let scope = ctx.scope();
    let is_super_admin = ctx.rights().is_super_admin;
    let tenant_id = scope.tenant.and_then(wire_tenant);
    let items = match tenant_id {
        Some(tenant) => allowed_tree(&ctx, tenant).await?,
        None => Vec::new(),
    };
    let tenants = if is_super_admin {
        all_tenants(&ctx).await?
    } else {
        Vec::new()
    };
    Ok(Json(OrganizationSwitcher {
        items,
        selected_id: scope.selected,
        can_manage: ctx.holds(acl::ORGANIZATIONS_MANAGE),
        can_view_all_organizations: scope.allowed.is_none(),
        tenant_id,
        tenants,
        is_super_admin,
    }))
}

/// Returns the organizations that the caller may select, also those that the current selection filters out of reads.
async fn allowed_tree(ctx: &RequestContext, tenant: Uuid) -> Result<Vec<SwitcherItem>> {
    let mut scope = ctx.scope().clone();
    scope.organizations = scope.allowed.clone();
    let rows = organizations_of_tenant(&mut *ctx.read().await?, &scope, tenant).await?;
    let ids: HashSet<Uuid> = rows.iter().map(|row| row.id).collect();
    let mut below: HashMap<Option<Uuid>, Vec<Organization>> = HashMap::new();
    for row in rows {
        let parent = row.parent_id.filter(|parent| ids.contains(parent));
        below.entry(parent).or_default().push(row);
    }
    Ok(nested(&mut below, None, 0))
}

fn nested(below: &mut HashMap<Option<Uuid>, Vec<Organization>>, parent: Option<Uuid>, depth: u32) -> Vec<SwitcherItem> {
    let rows = below.remove(&parent).unwrap_or_default();
    rows.into_iter()
        .map(|row| SwitcherItem {
            id: row.id,
            name: row.name,
            depth,
            selectable: row.is_active,
            is_active: row.is_active,
            children: nested(below, Some(row.id), depth + 1),
        })
        .collect()
}

/// Returns the tenants that may be selected, also those that the current selection leaves out.
async fn all_tenants(ctx: &RequestContext) -> Result<Vec<SwitcherTenant>> {
    let ctx = ctx.with_scope(Scope::system());
    let tenants = tenants_to_select(&mut *ctx.read().await?, ctx.scope(), MOST_TENANTS).await?;
    Ok(tenants
        .into_iter()
        .map(|(id, name)| SwitcherTenant { id, name })
        .collect())
}
