//! Public look-ups for sign-in pages.

use backoffice_core::http::{Access, Json, Query, Routes};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{ErrorShape, Rejection, Result, Scope, Visitor};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::{SLUG, query};

pub(super) const LIMIT: RateLimit = RateLimit::new("directory.lookup.ip", 60, 60);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/directory/tenants/lookup", Access::Public, lookup_tenant)
        .about("Look up a tenant")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid tenant id")
        .rejects(&[404])
        .limit(LIMIT);
    routes
        .get("/directory/organizations/lookup", Access::Public, lookup_organization)
        .about("Look up an organization by its slug")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid slug")
        .rejects(&[404])
        .limit(LIMIT);
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct TenantQuery {
    /// The tenant; also accepted as `tenant`.
    #[serde(alias = "tenant")]
    tenant_id: Uuid,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct SlugQuery {
    /// The slug.
    #[param(max_length = 100, pattern = "^[a-z0-9]+(-[a-z0-9]+)*$")]
    slug: String,
    /// The tenant; without it the oldest organization with that slug.
    tenant_id: Option<Uuid>,
}

#[derive(Debug, Serialize, ToSchema)]
struct FoundTenant {
    ok: bool,
    tenant: PublicTenant,
}

#[derive(Debug, Serialize, ToSchema)]
struct PublicTenant {
    id: Uuid,
    name: String,
}

#[derive(Debug, Serialize, ToSchema)]
struct FoundOrganization {
    ok: bool,
    organization: PublicOrganization,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PublicOrganization {
    id: Uuid,
    name: String,
    slug: String,
    tenant_id: Uuid,
}

async fn lookup_tenant(visitor: Visitor, filter: Query<TenantQuery>) -> Result<Json<FoundTenant>> {
    let mut connection = visitor.database().read(&Scope::system()).await?;
    let Some(tenant) = query::usable_tenant(&mut connection, filter.0.tenant_id).await? else {
        return Err(Rejection::not_found("Tenant not found").into());
    };
    Ok(Json(FoundTenant {
        ok: true,
        tenant: PublicTenant {
            id: tenant.id,
            name: tenant.name,
        },
    }))
}

async fn lookup_organization(visitor: Visitor, filter: Query<SlugQuery>) -> Result<Json<FoundOrganization>> {
    let SlugQuery { slug, tenant_id } = filter.0;
    if !SLUG.matches(&slug) {
        return Err(Rejection::bad_request("Invalid slug").into());
    }
    let mut connection = visitor.database().read(&Scope::system()).await?;
    let Some(found) = query::oldest_organization(&mut connection, &slug, tenant_id).await? else {
        return Err(Rejection::not_found("Organization not found").into());
    };
    let organization = PublicOrganization {
        id: found.id,
        name: found.name,
        slug: found.slug,
        tenant_id: found.tenant_id,
    };
    Ok(Json(FoundOrganization { ok: true, organization }))
}
