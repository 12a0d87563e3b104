//! The profile of the caller.

use backoffice_core::http::{Access, Json, Routes, given, wire_tenant};
use backoffice_core::input::{Input, Validator};
use backoffice_core::{Patch, Rejection, RequestContext, Result, Timestamp};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::passwords::{WithPassword, check_password, confirm_own, hashed, joined};
use crate::http::fields::{AccountEmail, NameOrBlank};
use crate::users::commands::{UpdateProfile, UserChanges};
use crate::users::model::User;
use crate::users::query;
use crate::values;

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/auth/profile", Access::Authenticated, get_profile)
        .about("The caller's profile")
        .rejects(&[404]);
    routes
        .put("/auth/profile", Access::Authenticated, update_profile)
        .about("Change the caller's address, name or password")
        .rejects(&[409, 429]);
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Profile {
    email: String,
    name: Option<String>,
    /// Names of the caller's roles, sorted.
    roles: Vec<String>,
    id: Uuid,
    tenant_id: Option<Uuid>,
    organization_id: Option<Uuid>,
    is_super_admin: bool,
    updated_at: Timestamp,
}

async fn get_profile(ctx: RequestContext) -> Result<Json<Profile>> {
    let Ok(id) = ctx.user_id() else {
        return Err(Rejection::not_found("User not found").into());
    };
    let user = own(&ctx, id).await?;
    let mut roles: Vec<String> = ctx.identity().roles.iter().map(|role| role.name.clone()).collect();
    roles.sort();
    Ok(Json(Profile {
        email: user.email,
        name: user.name,
        roles,
        id,
        tenant_id: wire_tenant(user.tenant_id),
        organization_id: user.organization_id,
        is_super_admin: ctx.rights().is_super_admin,
        updated_at: user.updated_at,
    }))
}

async fn own(ctx: &RequestContext, id: Uuid) -> Result<User> {
    let scope = own_scope(ctx);
    let connection = ctx.database().read_briefly(&scope).await?;
    let user = query::own(&connection, &scope, id).await?;
    user.ok_or_else(|| Rejection::not_found("User not found").into())
}

/// Returns the scope of the caller's own tenant, which holds the caller's row whatever tenant is selected.
fn own_scope(ctx: &RequestContext) -> backoffice_core::Scope {
    backoffice_core::Scope::tenant(ctx.identity().tenant)
}

/// Changes of the caller's profile: at least one of `email`, `password` and `name` is required.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(min_properties = 1)]
struct ProfilePatch {
    /// New address, unique in the tenant without regard to case.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<AccountEmail>, nullable = false)]
    email: Option<String>,
    /// New password: 8 to 256 characters in NFC, unless the configuration has other bounds; not a common password, and not the address.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = Password, min_length = 8, max_length = 256, nullable = false)]
    password: Option<SecretString>,
    /// New name, at most 120 characters without control characters; null or white space clears it.
    #[serde(default)]
    #[schema(value_type = Option<NameOrBlank>)]
    name: Patch<String>,
    /// The present password, required with `email` or `password`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, format = Password, nullable = false)]
    current_password: Option<SecretString>,
}

/// The address after the change.
#[derive(Debug, Serialize, ToSchema)]
struct ProfileWritten {
    ok: bool,
    email: String,
}

impl Input for ProfilePatch {
    const ACCEPTS_NUL: &'static [&'static str] = &["password"];

    fn validate(&self, validator: &mut Validator) {
        values::address_and_name(self.email.as_deref(), &self.name, validator);
    }
}

async fn update_profile(ctx: RequestContext, body: WithPassword<ProfilePatch>) -> Result<Json<ProfileWritten>> {
    let id = ctx.user_id()?;
    let patch = body.0.0;
    if patch.email.is_none() && patch.password.is_none() && patch.name.is_keep() {
        let message = "one of email, password and name is needed";
        return Err(Rejection::invalid_field("", message, "required").into());
    }
    let mut validator = Validator::default();
    let (email, name) = values::address_and_name(patch.email.as_deref(), &patch.name, &mut validator);
    let changes = UserChanges {
        email,
        name,
        ..UserChanges::default()
    };
    if let Err(rejected) = validator.check() {
        let address = changes.email.as_deref().unwrap_or_default();
        return Err(joined(rejected, check_password(&ctx, patch.password.as_ref(), address)));
    }
    let user = own(&ctx, id).await?;
    let confirmed_hash = match patch.email.is_some() || patch.password.is_some() {
        true => confirm_own(&ctx, &user, patch.current_password.as_ref()).await?,
        false => None,
    };
    let address = changes.email.clone().unwrap_or(user.email);
    let password_hash = match &patch.password {
        Some(password) => Some(hashed(&ctx, password, &address).await?),
        None => None,
    };
    let command = UpdateProfile {
        id,
        changes: UserChanges {
            password_hash,
            confirmed_hash,
            ..changes
        },
    };
    let response = |()| {
        Json(ProfileWritten {
            ok: true,
            email: address.clone(),
        })
    };
    // A caller who sees no organization may still change their own row.
    ctx.with_scope(own_scope(&ctx)).execute(&command, response).await
}
