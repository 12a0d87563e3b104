//! What actions that call the platform may name: endpoints, and keys whose roles the caller could grant.

use std::collections::BTreeMap;

use backoffice_core::db::Prepared;
use backoffice_core::http::{Access, EndpointInfo, Json, Routes, requires};
use backoffice_core::{Rejection, RequestContext, Result};
use diesel::sql_types::{Array, Jsonb, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;

/// Modules whose endpoints rules must not call.
const EXCLUDED: [&str; 7] = [
    "auth",
    "api-keys",
    "audit-logs",
    "business-rules",
    "onboarding",
    "api-docs",
    "events",
];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// Most keys of a response.
const MOST_KEYS: i32 = 1000;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(
            "/business_rules/platform-call-options",
            requires(&[acl::MANAGE, backoffice_api_keys::acl::CREATE]),
            list_business_rule_call_options,
        )
        .about("List endpoints and API keys for actions that call the platform");
}

/// Endpoints and keys.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleCallOptions)]
struct CallOptions {
    /// By path, then by method.
    endpoints: Vec<EndpointOption>,
    /// By name, at most 1000.
    api_keys: Vec<KeyOption>,
}

/// An endpoint without parameters in its path.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleEndpointOption)]
struct EndpointOption {
    /// Method and path.
    id: String,
    /// The path below `/api`.
    path: &'static str,
    /// The method.
    method: String,
    /// Method, path and summary.
    label: String,
    /// What the endpoint does.
    #[schema(required = true)]
    summary: Option<&'static str>,
    /// Name in the API document.
    #[schema(required = true)]
    operation_id: Option<&'static str>,
}

/// An API key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = BusinessRuleKeyOption)]
struct KeyOption {
    /// The id.
    id: Uuid,
    /// The name.
    name: String,
    /// The part of the key that may be shown.
    key_prefix: String,
    /// The organization; null for the whole tenant.
    #[schema(required = true)]
    organization_id: Option<Uuid>,
    /// Name of the organization.
    #[schema(required = true)]
    organization_name: Option<String>,
    /// The roles, by name.
    roles: Vec<RoleOption>,
}

/// A role of a key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BusinessRuleRoleOption)]
struct RoleOption {
    /// The id.
    id: Uuid,
    /// The name.
    #[schema(required = true)]
    name: Option<String>,
}

fn is_callable(info: &EndpointInfo) -> bool {
    METHODS.contains(&info.method.as_str())
        && !info.path.contains('{')
        && !matches!(info.access, Access::Public | Access::Optional)
        && !info.streaming
        && !info.downloads
        && info.media.is_empty()
        && !EXCLUDED.contains(&info.module)
}

fn endpoints(ctx: &RequestContext) -> Vec<EndpointOption> {
    let all = ctx.platform().endpoints();
    let callable = all.iter().filter(|info| is_callable(info));
    let by_path: BTreeMap<(&str, String), &EndpointInfo> = callable
        .map(|info| ((info.path, info.method.to_string()), info))
        .collect();
    let option = |((path, method), info): ((&'static str, String), &EndpointInfo)| {
        let id = format!("{method} {path}");
        let summary = Some(info.summary).filter(|summary| !summary.is_empty());
        EndpointOption {
            label: summary.map_or_else(|| id.clone(), |summary| format!("{id} - {summary}")),
            id,
            path,
            method,
            summary,
            operation_id: Some(info.operation).filter(|name| !name.is_empty()),
        }
    };
    by_path
        .into_iter()
        .map(|((_, method), info)| option(((info.path, method), info)))
        .collect()
}

#[derive(QueryableByName)]
struct KeyRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    key_prefix: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    organization_id: Option<Uuid>,
    #[diesel(sql_type = Nullable<Text>)]
    organization_name: Option<String>,
    #[diesel(sql_type = Jsonb)]
    roles: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RoleRow {
    id: Uuid,
    name: Option<String>,
    is_super_admin: Option<bool>,
    features: Option<Vec<String>>,
    organizations: Option<Vec<Uuid>>,
}

const KEYS: &str = "\
select k.id, k.name, k.key_prefix, k.organization_id,
    (select o.name from directory_organizations o where o.tenant_id = k.tenant_id and o.id = k.organization_id) as organization_name,
    coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'isSuperAdmin', a.is_super_admin, 'features', a.features,
            'organizations', a.organizations) order by r.name_norm, r.id)
        from api_keys_key_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id
        left join auth_role_acls a on a.tenant_id = r.tenant_id and a.role_id = r.id
        where l.tenant_id = k.tenant_id and l.key_id = k.id), '[]') as roles
from api_keys_keys k
where k.tenant_id = $1 and k.deleted_at is null and (k.expires_at is null or k.expires_at > $2)
    and ($3::uuid[] is null or k.organization_id = any($3))
order by k.name, k.id limit $4";

async fn keys(ctx: &RequestContext, tenant: Uuid) -> Result<Vec<KeyOption>> {
    let mut connection = ctx.read().await?;
    let statement = sql_query(KEYS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Timestamptz, _>(ctx.now())
        .bind::<Nullable<Array<SqlUuid>>, _>(ctx.scope().organizations.clone())
        .bind::<diesel::sql_types::Integer, _>(MOST_KEYS);
    let rows: Vec<KeyRow> = Prepared(statement).load(&mut *connection).await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        let roles: Vec<RoleRow> = serde_json::from_value(row.roles)?;
        let could_grant = |role: &RoleRow| is_grantable(ctx, role, row.organization_id);
        if !roles.iter().all(could_grant) {
            continue;
        }
        let shown = |role: RoleRow| RoleOption {
            id: role.id,
            name: role.name,
        };
        keys.push(KeyOption {
            id: row.id,
            name: row.name,
            key_prefix: row.key_prefix,
            organization_id: row.organization_id,
            organization_name: row.organization_name,
            roles: roles.into_iter().map(shown).collect(),
        });
    }
    Ok(keys)
}

/// Whether the caller covers everything that a role grants to a key of this organization.
fn is_grantable(ctx: &RequestContext, role: &RoleRow, organization: Option<Uuid>) -> bool {
    let pairs = ctx.pairs();
    if pairs.is_super_admin() {
        return true;
    }
    if role.is_super_admin == Some(true) {
        return false;
    }
    // A key with an organization is confined to it, whatever its roles grant.
    let places: Vec<Option<Uuid>> = match (&role.organizations, organization) {
        (_, Some(own)) => vec![Some(own)],
        (Some(listed), None) => listed.iter().copied().map(Some).collect(),
        (None, None) => vec![None],
    };
    role.features.iter().flatten().all(|feature| {
        let covered = pairs.covering(feature);
        places.iter().all(|place| match (&covered, place) {
            (None, _) => true,
            (Some(covered), Some(place)) => covered.contains(place),
            (Some(_), None) => false,
        })
    })
}

async fn list_business_rule_call_options(ctx: RequestContext) -> Result<Json<CallOptions>> {
    let tenant = ctx.tenant()?;
    if tenant.is_nil() {
        return Err(Rejection::tenant_required().into());
    }
    Ok(Json(CallOptions {
        endpoints: endpoints(&ctx),
        api_keys: keys(&ctx, tenant).await?,
    }))
}
