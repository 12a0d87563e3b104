//! Tenants.

use std::collections::HashMap;

use backoffice_core::db::Connection;
use backoffice_core::http::{Created, Done, Id, Json, Query, Routes, requires};
use backoffice_core::list::{ById, Page, PageQuery, search_pattern};
use backoffice_core::{RequestContext, Result, Scope, Timestamp, Violations};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::commands::{CreateTenant, DeleteTenant, NewTenant, TenantCreated, TenantPatch, UpdateTenant};
use crate::query::{TenantFilter, TenantSort, TenantSummary, page_of_tenants};
use crate::{Error, UserCounterHandle, acl};

pub(super) fn routes(routes: &mut Routes) {
    let path = "/directory/tenants";
    routes
        .get(path, requires(&[acl::TENANTS_VIEW]), list_tenants)
        .across_tenants()
        .shows(&["directory.tenant", "directory.organization", "auth.user"])
        .about("List tenants");
    routes
        .post(path, requires(&[acl::TENANTS_MANAGE]), create_tenant)
        .across_tenants()
        .about("Create a tenant with its first organization and roles");
    routes
        .put(path, requires(&[acl::TENANTS_MANAGE]), update_tenant)
        .across_tenants()
        .about("Change a tenant")
        .rejects(&[404, 409]);
    routes
        .delete(path, requires(&[acl::TENANTS_MANAGE]), delete_tenant)
        .across_tenants()
        .about("Delete a tenant; its data stays")
        .rejects(&[404, 409]);
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct TenantQuery {
    /// Page number from 1.
    #[param(minimum = 1, maximum = 2_147_483_647, default = 1)]
    page: Option<u32>,
    /// Rows of a page.
    #[param(minimum = 1, maximum = 100, default = 50)]
    page_size: Option<u32>,
    /// Part of the name.
    #[param(max_length = 200)]
    search: Option<String>,
    /// Whether users may sign in.
    is_active: Option<bool>,
    /// `name` (default), `createdAt` or `updatedAt`.
    #[param(inline)]
    sort_field: Option<TenantSort>,
    /// `asc` (default) or `desc`.
    #[param(inline)]
    sort_dir: Option<SortDirection>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
enum SortDirection {
    Asc,
    Desc,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TenantItem {
    id: Uuid,
    name: String,
    is_active: bool,
    /// Codes of the locales of the tenant; null: all that `i18n.locales` has. The configuration defines them: the set is open.
    locales: Option<Vec<String>>,
    organizations_count: i64,
    users_count: i64,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// A new tenant and its first organization.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CreatedTenant {
    id: Uuid,
    organization_id: Uuid,
}

async fn list_tenants(
    ctx: RequestContext,
    query: Query<TenantQuery>,
    by_id: Query<ById>,
) -> Result<Json<Page<TenantItem>>> {
    let query = query.0;
    let mut violations = Violations::default();
    let window = violations.keep(PageQuery::new(query.page, query.page_size).window());
    let filter = TenantFilter {
        ids: violations.keep(by_id.0.requested()),
        is_active: query.is_active,
        search: violations.keep(search_pattern("search", query.search.as_deref())),
        sort: query.sort_field.unwrap_or_default(),
        descending: query.sort_dir == Some(SortDirection::Desc),
    };
    violations.check()?;
    let mut connection = ctx.read().await?;
    let page = page_of_tenants(&connection, &ctx, &filter, window).await?;
    let users = count_users(&ctx, &mut connection, &page.items).await?;
    Ok(Json(page.map(|tenant| item(tenant, &users))))
}

async fn count_users(
    ctx: &RequestContext,
    connection: &mut Connection,
    tenants: &[TenantSummary],
) -> Result<HashMap<Uuid, i64>> {
    let ids: Vec<Uuid> = tenants.iter().map(|tenant| tenant.row.id).collect();
    match ctx.platform().provided().get::<UserCounterHandle>() {
        Some(counter) if !ids.is_empty() => counter.0.count(connection, &ids).await,
        _ => Ok(HashMap::new()),
    }
}

fn item(tenant: TenantSummary, users: &HashMap<Uuid, i64>) -> TenantItem {
    let TenantSummary { row, organizations } = tenant;
    TenantItem {
        id: row.id,
        name: row.name,
        is_active: row.is_active,
        locales: row.locales,
        organizations_count: organizations,
        users_count: users.get(&row.id).copied().unwrap_or_default(),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}

async fn create_tenant(ctx: RequestContext, body: Json<NewTenant>) -> Result<Created<CreatedTenant>> {
    if !ctx.rights().is_super_admin {
        return Err(Error::SuperAdministratorsOnly.into());
    }
    let command = CreateTenant::new(&ctx, body.0)?;
    // The scope of a selected tenant would not include the new tenant.
    ctx.with_scope(Scope::system())
        .execute(&command, |TenantCreated { id, organization_id }| {
            Created(CreatedTenant { id, organization_id })
        })
        .await
}

async fn update_tenant(ctx: RequestContext, body: Json<TenantPatch>) -> Result<Json<Done>> {
    let command = UpdateTenant::new(&ctx, body.0)?;
    ctx.execute(&command, |()| Json(Done::OK)).await
}

async fn delete_tenant(ctx: RequestContext, query: Query<Id>) -> Result<Json<Done>> {
    let command = DeleteTenant::new(&ctx, query.0.id)?;
    ctx.execute(&command, |()| Json(Done::OK)).await
}
