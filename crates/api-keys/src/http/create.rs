//! Creation of keys.

use backoffice_auth::RoleToHold;
use backoffice_core::http::{Created, Json, given};
use backoffice_core::input::{Bounded, Input, Validator};
use backoffice_core::{Patch, Rejection, RequestContext, Result, Scope, Timestamp, VisibleTenants};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::commands::{CreateKey, KeyCreated, KeyFields, NewKeyInput, name_and_description};
use crate::query::keys::RoleOfKey;
use crate::values::KeyName;

/// A key to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewKey {
    /// 1 to 120 characters, not counting surrounding white space; no control characters.
    #[schema(value_type = KeyName)]
    name: String,
    /// At most 1000 characters.
    #[schema(max_length = 1000)]
    description: Option<String>,
    /// Super administrators: an existing tenant other than the platform, by default the selected one. Others: their own.
    tenant_id: Option<Uuid>,
    /// An organization of the tenant; null means the whole tenant. By default the selected organization, else the caller's own; required
    /// if there is neither.
    #[serde(default)]
    #[schema(value_type = Option<Uuid>)]
    organization_id: Patch<Uuid>,
    /// At most 50 existing roles of the tenant, by id or name; none with super administrator rights.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>, nullable = false, max_items = 50)]
    roles: Option<Bounded<Vec<String>, 0, 50>>,
    /// In the future, and not after the expiry of the API key that sends the request. Null or absent: that expiry, otherwise never. If
    /// `api_keys.max_ttl` is configured, limited by it, and required unless the request is sent by an API key that expires.
    expires_at: Option<Timestamp>,
}

impl Input for NewKey {
    fn validate(&self, validator: &mut Validator) {
        name_and_description(&self.name, self.description.as_ref(), validator);
    }
}

/// The created key.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CreatedKey {
    id: Uuid,
    name: String,
    /// The first 11 characters of the key.
    key_prefix: String,
    /// The whole key, shown only once; null when the request is repeated with its `Idempotency-Key`.
    secret: Option<String>,
    tenant_id: Uuid,
    organization_id: Option<Uuid>,
    roles: Vec<RoleOfKey>,
    expires_at: Option<Timestamp>,
}

pub(super) async fn create_api_key(ctx: RequestContext, body: Json<NewKey>) -> Result<Created<CreatedKey>> {
    let new = body.0;
    // Reports every invalid field before a missing tenant or organization.
    KeyFields::new(&ctx, &new.name, new.description.as_ref(), new.expires_at)?;
    let tenant = match new.tenant_id {
        Some(tenant) => live_tenant(&ctx, tenant).await?,
        None => super::tenant(&ctx)?,
    };
    let is_selected = ctx.scope().tenant == Some(tenant);
    let default = ctx.scope().write_organization.filter(|_| is_selected);
    let requested = NewKeyInput {
        tenant,
        name: new.name,
        description: new.description,
        organization: organization(new.organization_id, default)?,
        roles: new.roles.unwrap_or_default().0,
        expires_at: new.expires_at,
    };
    let command = CreateKey::new(&ctx, requested)?;
    // Only super administrators can name a tenant other than their own; what they selected in another tenant does not apply there.
    let ctx = if is_selected {
        ctx
    } else {
        ctx.with_scope(Scope::new(VisibleTenants::All, Some(tenant)))
    };
    let response = |outcome: KeyCreated| Created(created(&command, outcome));
    ctx.execute(&command, response).await
}

fn created(command: &CreateKey, outcome: KeyCreated) -> CreatedKey {
    let role = |role: RoleToHold| RoleOfKey {
        id: role.id,
        name: Some(role.name),
    };
    CreatedKey {
        id: command.id,
        name: command.name.clone(),
        key_prefix: command.secret.prefix.clone(),
        secret: Some(command.secret.text.expose_secret().to_owned()),
        tenant_id: command.tenant,
        organization_id: command.organization,
        roles: outcome.roles.into_iter().map(role).collect(),
        expires_at: outcome.expires_at,
    }
}

async fn live_tenant(ctx: &RequestContext, tenant: Uuid) -> Result<Uuid> {
    if !tenant.is_nil() {
        if ctx.identity().tenant == tenant {
            return Ok(tenant);
        }
        let mut connection = ctx.read().await?;
        if let Some(tree) = ctx.platform().provided().organizations()
            && tree.tenant_is_live(&mut connection, tenant).await?
        {
            return Ok(tenant);
        }
    }
    Err(Rejection::bad_request("Tenant not found").into())
}

/// Returns the organization of a new key; `None` for a key of the whole tenant.
fn organization(named: Patch<Uuid>, default: Option<Uuid>) -> Result<Option<Uuid>> {
    match (named, default) {
        (Patch::Set(id), _) | (Patch::Keep, Some(id)) => Ok(Some(id)),
        (Patch::Clear, _) => Ok(None),
        (Patch::Keep, None) => Err(Rejection::organization_required().into()),
    }
}
