//! What actions that call the platform may name.

use backoffice_core::http::{EndpointInfo, Json, Routes, requires};
use backoffice_core::{Rejection, RequestContext, Result};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::acl;
use crate::documented::BusinessRuleCallMethod;
use crate::platform_calls::{CallableEndpoints, CallableKey, keys};

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
    #[schema(value_type = BusinessRuleCallMethod)]
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

impl From<&EndpointInfo> for EndpointOption {
    fn from(info: &EndpointInfo) -> Self {
        let (method, path) = (info.method.to_string(), info.path);
        let id = format!("{method} {path}");
        let summary = Some(info.summary).filter(|summary| !summary.is_empty());
        Self {
            label: summary.map_or_else(|| id.clone(), |summary| format!("{id} - {summary}")),
            id,
            path,
            method,
            summary,
            operation_id: Some(info.operation).filter(|name| !name.is_empty()),
        }
    }
}

impl From<CallableKey> for KeyOption {
    fn from(key: CallableKey) -> Self {
        let role = |(id, name)| RoleOption { id, name };
        Self {
            id: key.id,
            name: key.name,
            key_prefix: key.key_prefix,
            organization_id: key.organization,
            organization_name: key.organization_name,
            roles: key.roles.into_iter().map(role).collect(),
        }
    }
}

async fn list_business_rule_call_options(ctx: RequestContext) -> Result<Json<CallOptions>> {
    let tenant = ctx.tenant()?;
    if tenant.is_nil() {
        return Err(Rejection::tenant_required().into());
    }
    let endpoints = ctx.call().provided::<CallableEndpoints>()?;
    let mut connection = ctx.read().await?;
    let keys = keys(&mut connection, &ctx, tenant, None).await?;
    Ok(Json(CallOptions {
        endpoints: endpoints.all(ctx.platform()).map(EndpointOption::from).collect(),
        api_keys: keys.into_iter().map(KeyOption::from).collect(),
    }))
}
