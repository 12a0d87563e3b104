//! Roles.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::command::{Command, Target};
use backoffice_core::http::{Created, CreatedId, Done, Identified, Json, Query, Routes, requires, wire_tenant};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::list::{ById, Page, PageQuery, search_pattern};
use backoffice_core::scope::VisibleTenants;
use backoffice_core::{Patch, Rejection, RequestContext, Result, Scope, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::acl;
use crate::http::required_id;
use crate::roles::commands::{CreateRole, DeleteRole, RoleInput, UpdateRole};
use crate::roles::query::{self, BesideRole, RoleFilter, RoleSummary};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/roles", requires(&[acl::ROLES_LIST]), list_roles)
        .across_tenants()
        .shows(&["auth.role", "auth.role_acl", "auth.user", "directory.tenant"])
        .about("List roles")
        .reads("auth.role");
    routes
        .post("/auth/roles", requires(&[acl::ROLES_MANAGE]), create_role)
        .across_tenants()
        .about("Create a role")
        .rejects(&[409, 422]);
    routes
        .put("/auth/roles", requires(&[acl::ROLES_MANAGE]), update_role)
        .across_tenants()
        .about("Rename a role")
        .rejects(&[404, 409, 422]);
    routes
        .delete("/auth/roles", requires(&[acl::ROLES_MANAGE]), delete_role)
        .across_tenants()
        .about("Delete a role that no user holds")
        .rejects(&[404, 409, 422]);
}

/// Parameters of the list of roles.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct RoleQuery {
    /// Substring of the name.
    #[param(max_length = 200)]
    search: Option<String>,
    /// The tenant; only for super administrators, others see their own.
    tenant_id: Option<Uuid>,
}

/// A role of the list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RoleItem {
    id: Uuid,
    name: String,
    /// Number of live users that hold the role.
    users_count: i64,
    /// Null for a global role.
    tenant_id: Option<Uuid>,
    tenant_name: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<(RoleSummary, BesideRole)> for RoleItem {
    fn from((summary, beside): (RoleSummary, BesideRole)) -> Self {
        Self {
            id: summary.id,
            name: summary.name,
            users_count: beside.users_count,
            tenant_id: wire_tenant(summary.tenant_id),
            tenant_name: beside.tenant_name,
            created_at: summary.created_at,
            updated_at: summary.updated_at,
        }
    }
}

async fn list_roles(
    ctx: RequestContext,
    query: Query<RoleQuery>,
    page: Query<PageQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<RoleItem>>> {
    let query = query.0;
    let mut violations = Violations::default();
    let window = violations.keep(page.0.window());
    let filter = RoleFilter {
        ids: violations.keep(by_id.0.requested()),
        name_pattern: violations.keep(search_pattern("search", query.search.as_deref())),
        tenant: query.tenant_id,
    };
    violations.check()?;
    let connection = ctx.read().await?;
    let page = query::list(&connection, &ctx, &filter, window).await?;
    let page = page.map(RoleItem::from);
    let access = match by_id.0.is_single() {
        true => AccessType::Item,
        false => AccessType::List,
    };
    let record = |role: &RoleItem| Record::new(role.id, role.tenant_id);
    ctx.log_reads(&connection, access, &page.items, record).await?;
    Ok(Json(page))
}

async fn create_role(ctx: RequestContext, body: Json<RoleInput>) -> Result<Created<CreatedId>> {
    let command = CreateRole::new(&ctx, body.0).await?;
    let is_global = matches!(command.target(), Target::New { tenant, .. } if tenant == PLATFORM_TENANT);
    // The scope of a selected tenant does not include a global role.
    let ctx = if is_global && ctx.rights().is_super_admin {
        ctx.with_scope(Scope::system())
    } else {
        ctx
    };
    ctx.execute(&command, |id| Created(CreatedId { id })).await
}

async fn update_role(ctx: RequestContext, body: Identified<RoleInput>) -> Result<Json<Done>> {
    let named_tenant = match body.fields.tenant_id {
        Patch::Keep => None,
        Patch::Clear => Some(PLATFORM_TENANT),
        Patch::Set(tenant) => Some(tenant),
    };
    let command = UpdateRole::new(body.id, body.fields)?;
    if let Some(tenant) = named_tenant {
        let mut connection = ctx.read().await?;
        let role = query::find(&mut connection, &ctx, body.id).await?;
        if role.is_some_and(|role| role.tenant_id != tenant) {
            return Err(Rejection::bad_request("A role cannot change its tenant").into());
        }
    }
    let ctx = writing_role(ctx, body.id).await?;
    ctx.execute(&command, |_| Json(Done::OK)).await
}

/// The role to delete.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RoleId {
    /// The id. The role must not be `superadmin`, and no user or API key may hold it.
    #[param(value_type = Uuid)]
    id: Option<String>,
}

async fn delete_role(ctx: RequestContext, query: Query<RoleId>) -> Result<Json<Done>> {
    let id = required_id("id", query.0.id.as_deref(), "Role id required")?;
    let ctx = writing_role(ctx, id).await?;
    ctx.execute(&DeleteRole { id }, |()| Json(Done::OK)).await
}

/// Returns the context in which the role is written: for a global role, one whose scope includes all tenants, even if one is selected.
pub(super) async fn writing_role(ctx: RequestContext, id: Uuid) -> Result<RequestContext> {
    if !ctx.rights().is_super_admin || ctx.scope().visible_tenants == VisibleTenants::All {
        return Ok(ctx);
    }
    let role = {
        let mut connection = ctx.read().await?;
        query::find(&mut connection, &ctx, id).await?
    };
    Ok(match role {
        Some(role) if role.tenant_id == PLATFORM_TENANT => ctx.with_scope(Scope::system()),
        _ => ctx,
    })
}
