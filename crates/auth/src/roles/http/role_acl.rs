//! ACLs of roles.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{Json, Query, Routes, given, requires, wire_tenant};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Patch, Rejection, RequestContext, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::roles::writing_role;
use crate::acl;
use crate::http::required_id;
use crate::roles::commands::{AclWritten, UpdateRoleAcl};
use crate::roles::grants::AclInput;
use crate::roles::query;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/roles/acl", requires(&[acl::ACL_MANAGE]), get_role_acl)
        .across_tenants()
        .shows(&["auth.role", "auth.role_acl"])
        .about("What a role grants")
        .reads("auth.role_acl")
        .rejects(&[404]);
    routes
        .put("/auth/roles/acl", requires(&[acl::ACL_MANAGE]), update_role_acl)
        .across_tenants()
        .about("Set what a role grants")
        .rejects(&[404, 409, 422]);
}

/// Parameters that name a role.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct RoleAclQuery {
    /// The role.
    #[param(value_type = Uuid)]
    role_id: Option<String>,
    /// The role's tenant, if given; for a global role, any tenant that the caller may name.
    tenant_id: Option<Uuid>,
}

/// The ACL of a role.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RoleAclDetail {
    is_super_admin: bool,
    features: Vec<String>,
    organizations: Option<Vec<Uuid>>,
    updated_at: Option<Timestamp>,
}

async fn get_role_acl(ctx: RequestContext, query: Query<RoleAclQuery>) -> Result<Json<RoleAclDetail>> {
    let id = required_id("roleId", query.0.role_id.as_deref(), "Invalid role id")?;
    let mut connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let role = query::find(&mut connection, &ctx, id).await?.filter(|role| {
        role.tenant_id == PLATFORM_TENANT || query.0.tenant_id.is_none_or(|tenant| tenant == role.tenant_id)
    });
    let Some(role) = role else {
        return Err(Rejection::not_found("Role not found").into());
    };
    let acl = query::acl(&mut connection, &role).await?;
    let detail = acl.map_or_else(RoleAclDetail::default, |acl| RoleAclDetail {
        is_super_admin: acl.is_super_admin,
        features: acl.features,
        organizations: acl.organizations,
        updated_at: Some(acl.updated_at),
    });
    let record = Record::new(role.id, wire_tenant(role.tenant_id));
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&detail), |_| {
        record.clone()
    })
    .await?;
    Ok(Json(detail))
}

/// New values of an ACL; absent fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RoleAclPatch {
    /// The role.
    role_id: Uuid,
    /// At most 1000 features, `prefix.*` or `*`.
    #[serde(default, deserialize_with = "given")]
    #[schema(
        nullable = false,
        max_items = 1000,
        max_length = 128,
        pattern = r"^(\*|[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?)$"
    )]
    features: Option<Vec<String>>,
    /// Grants everything; only super administrators may set it. One active super administrator must remain.
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    is_super_admin: Option<bool>,
    /// At most 500 existing organizations of the tenant; null = all of the tenant, the only value for a global role.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Uuid>>, max_items = 500)]
    organizations: Patch<Vec<Uuid>>,
}

impl RoleAclPatch {
    fn acl(&self) -> AclInput {
        AclInput {
            features: self.features.clone(),
            is_super_admin: self.is_super_admin,
            organizations: self.organizations.clone(),
        }
    }
}

impl Input for RoleAclPatch {
    fn validate(&self, validator: &mut Validator) {
        self.acl().validate(validator);
    }
}

/// The result of writing an ACL.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AclState {
    ok: bool,
    /// Whether repetitions or unknown features were dropped.
    sanitized: bool,
    updated_at: Option<Timestamp>,
}

impl From<AclWritten> for AclState {
    fn from(written: AclWritten) -> Self {
        Self {
            ok: true,
            sanitized: written.sanitized,
            updated_at: written.updated_at,
        }
    }
}

async fn update_role_acl(ctx: RequestContext, body: Json<RoleAclPatch>) -> Result<Json<AclState>> {
    let input = body.0.acl();
    let mut validator = Validator::default();
    input.validate(&mut validator);
    validator.check()?;
    let command = UpdateRoleAcl {
        role: body.0.role_id,
        input,
    };
    let ctx = writing_role(ctx, command.role).await?;
    ctx.execute(&command, |written| Json(AclState::from(written))).await
}
