//! ACLs of users, which apply instead of those of their roles.

use backoffice_core::access_log::{AccessType, Record};
use backoffice_core::http::{Json, Query, Routes, given, requires, wire_tenant};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Patch, Rejection, RequestContext, Result, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::role_acl::AclState;
use crate::http::required_id;
use crate::roles::commands::UpdateUserAcl;
use crate::roles::grants::AclInput;
use crate::{acl, users};

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/users/acl", requires(&[acl::ACL_MANAGE]), get_user_acl)
        .across_tenants()
        .shows(&["auth.user", "auth.user_acl", "auth.role_acl"])
        .about("What a user may do instead of what its roles grant")
        .reads("auth.user_acl")
        .rejects(&[404]);
    routes
        .put("/auth/users/acl", requires(&[acl::ACL_MANAGE]), update_user_acl)
        .across_tenants()
        .about("Set what a user may do, or let its roles count again")
        .rejects(&[404, 409, 422]);
}

/// Parameters that name a user.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct UserAclQuery {
    /// The user.
    #[param(value_type = Uuid)]
    user_id: Option<String>,
}

/// A user's own ACL.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserAclDetail {
    /// Whether the user has an own ACL; otherwise the roles apply.
    has_custom_acl: bool,
    is_super_admin: bool,
    features: Vec<String>,
    organizations: Option<Vec<Uuid>>,
    updated_at: Option<Timestamp>,
}

async fn get_user_acl(ctx: RequestContext, query: Query<UserAclQuery>) -> Result<Json<UserAclDetail>> {
    let id = required_id("userId", query.0.user_id.as_deref(), "Invalid user id")?;
    let mut connection = ctx.read().await?;
    ctx.read_version_first(&connection).await?;
    let Some(user) = users::query::find(&mut connection, &ctx, id).await? else {
        return Err(Rejection::not_found("User not found").into());
    };
    let acl = users::query::acl(&mut connection, &user).await?;
    let detail = acl.map_or_else(UserAclDetail::default, |acl| UserAclDetail {
        has_custom_acl: true,
        is_super_admin: acl.is_super_admin,
        features: acl.features,
        organizations: acl.organizations,
        updated_at: Some(acl.updated_at),
    });
    let record = Record::new(user.id, wire_tenant(user.tenant_id)).of(user.organization_id);
    ctx.log_reads(&connection, AccessType::Item, std::slice::from_ref(&detail), |_| {
        record.clone()
    })
    .await?;
    Ok(Json(detail))
}

/// New values of an ACL; absent fields stay.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct UserAclPatch {
    /// The user.
    user_id: Uuid,
    /// At most 1000 features, `prefix.*` or `*`. An empty list, without the super-admin flag, removes the ACL.
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
    /// At most 500 existing organizations of the tenant; null = all of the tenant.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Uuid>>, max_items = 500)]
    organizations: Patch<Vec<Uuid>>,
}

impl UserAclPatch {
    fn acl(&self) -> AclInput {
        AclInput {
            features: self.features.clone(),
            is_super_admin: self.is_super_admin,
            organizations: self.organizations.clone(),
        }
    }
}

impl Input for UserAclPatch {
    fn validate(&self, validator: &mut Validator) {
        self.acl().validate(validator);
    }
}

async fn update_user_acl(ctx: RequestContext, body: Json<UserAclPatch>) -> Result<Json<AclState>> {
    let input = body.0.acl();
    let mut validator = Validator::default();
    input.validate(&mut validator);
    validator.check()?;
    let command = UpdateUserAcl {
        user: body.0.user_id,
        input,
    };
    ctx.execute(&command, |written| Json(AclState::from(written))).await
}
