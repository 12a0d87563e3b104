//! Account operations of the command line. They run on the command bus, as the platform.

use std::sync::Arc;

use backoffice_core::http::{CreatedId, Json};
use backoffice_core::ids::{Ids, PLATFORM_TENANT};
use backoffice_core::{Patch, Rejection, RequestContext, Result};
use backoffice_directory::query::in_live_tenant;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, Queryable};
use diesel_async::RunQueryDsl;
use secrecy::SecretString;
use serde_json::Value;
use uuid::Uuid;

use super::commands::{CreateUser, InviteUser, RequestReset, UpdateUser, UserChanges};
use super::query;
use crate::accounts::Accounts;
use crate::mails::letters;
use crate::roles::commands::{CreateRole, RoleInput, UpdateRoleAcl};
use crate::roles::grants::AclInput;
use crate::roles::seed;
use crate::schema::{auth_roles as roles, auth_users as users};
use crate::sessions::one_time_token::{NewToken, Purpose};
use crate::{Error, email, values};

/// An account to create.
#[derive(Debug, Clone)]
pub struct NewAccount {
    /// The tenant; `None` creates a user of the platform.
    pub tenant: Option<Uuid>,
    /// The organization; required with a tenant.
    pub organization: Option<Uuid>,
    /// E-mail address.
    pub email: String,
    /// Name.
    pub name: Option<String>,
    /// Password; an account without one can't sign in yet.
    pub password: Option<SecretString>,
    /// Roles by id or name.
    pub roles: Vec<String>,
    /// Whether the account also gets the role `superadmin`, which is created if missing.
    pub super_admin: bool,
}

/// An account of a list.
#[derive(Debug, Clone, Queryable, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountSummary {
    /// The id.
    pub id: Uuid,
    /// The tenant.
    pub tenant_id: Uuid,
    /// E-mail address.
    pub email: String,
    /// Name.
    pub name: Option<String>,
    /// Whether the account may sign in.
    pub is_active: bool,
}

/// Rejects an address or a password with which [`create_account`] would create no account. It does not look for other accounts.
///
/// # Errors
/// 400 for an address that is not valid, or a password that breaks a rule.
pub fn check_account(context: &RequestContext, address: &str, password: Option<&SecretString>) -> Result<()> {
    if !email::is_valid(address) {
        return Err(Rejection::bad_request("The e-mail address is not valid").into());
    }
    let accounts: Arc<Accounts> = context.call().provided()?;
    if let Some(password) = password {
        accounts.policy.check(password, address)?;
    }
    Ok(())
}

/// Creates an account; returns its id.
///
/// # Errors
/// The rejections of `POST /auth/users`.
pub async fn create_account(context: &RequestContext, account: NewAccount) -> Result<Uuid> {
    check_account(context, &account.email, account.password.as_ref())?;
    let name = values::user_name(&account.name.map_or(Patch::Clear, Patch::Set)).map_err(|_| {
        let text = "The name must be at most 120 characters long, without control characters";
        Rejection::bad_request(text)
    })?;
    let mut named = account.roles.clone();
    if account.super_admin {
        named.push(ensure_super_admin_role(context).await?.to_string());
    }
    let password_hash = match &account.password {
        Some(password) => Some(hashed(context, password, &account.email).await?),
        None => None,
    };
    let command = CreateUser {
        id: context.new_id(),
        tenant: account.tenant.unwrap_or(PLATFORM_TENANT),
        organization: account.organization,
        email: account.email.trim().to_owned(),
        name: name.value(),
        roles: named,
        password_hash,
        is_active: true,
        invitation: Ok(None),
    };
    context.execute(&command, |_| Json(Value::Null)).await?;
    Ok(command.id)
}

/// Sets a password; ends every session of the account.
///
/// # Errors
/// As [`find_account`]; 400 if the password breaks a rule.
pub async fn set_password(
    context: &RequestContext,
    address: &str,
    tenant: Option<Uuid>,
    password: SecretString,
) -> Result<()> {
    let id = find_account(context, address, tenant).await?;
    let password_hash = Some(hashed(context, &password, address).await?);
    let changes = UserChanges {
        password_hash,
        ..UserChanges::default()
    };
    context
        .execute(&UpdateUser { id, changes }, |()| Json(Value::Null))
        .await?;
    Ok(())
}

/// Sends an account a link to choose a password: an invitation if there is no password yet, else a reset.
///
/// # Errors
/// 404 if the account does not exist, 409 if it is inactive; 500 if mail is not configured or can't be sent.
pub async fn send_link(context: &RequestContext, id: Uuid) -> Result<()> {
    let call = context.call();
    if !letters::is_configured(call) {
        return Err(Error::InvitationNotConfigured.into());
    }
    let accounts: Arc<Accounts> = call.provided()?;
    let found: Option<(Uuid, bool)> = {
        let mut connection = context.read().await?;
        query::in_scope(context.scope())
            .filter(users::id.eq(id))
            .select((users::tenant_id, users::password_hash.is_not_null()))
            .first(&mut *connection)
            .await
            .optional()?
    };
    let (tenant, has_password) = found.ok_or_else(|| Rejection::not_found("User not found"))?;
    let (purpose, life) = match has_password {
        true => (Purpose::Reset, accounts.config.reset_ttl()),
        false => (Purpose::Invite, accounts.config.invite_ttl()),
    };
    let token = NewToken::mint(context.ids(), purpose, context.now(), life);
    if has_password {
        let command = RequestReset {
            id,
            token: token.clone(),
        };
        context.execute(&command, |()| Json(Value::Null)).await?;
    } else {
        let command = InviteUser {
            id,
            token: token.clone(),
        };
        context.execute(&command, |()| Json(Value::Null)).await?;
    }
    match letters::send_link(call, &accounts, (tenant, id), &token, purpose).await? {
        true => Ok(()),
        false => Err(Rejection::not_found("User not found").into()),
    }
}

/// Activates or deactivates an account.
///
/// # Errors
/// As [`find_account`].
pub async fn set_active(context: &RequestContext, address: &str, tenant: Option<Uuid>, is_active: bool) -> Result<()> {
    let id = find_account(context, address, tenant).await?;
    let changes = UserChanges {
        is_active: Some(is_active),
        ..UserChanges::default()
    };
    context
        .execute(&UpdateUser { id, changes }, |()| Json(Value::Null))
        .await?;
    Ok(())
}

/// Returns the id of the account with this address: in the tenant, which is the nil UUID for users of the platform, or in the only tenant that
/// has it.
///
/// # Errors
/// 404 if the account does not exist, 400 if several tenants have it and none is named.
pub async fn find_account(context: &RequestContext, address: &str, tenant: Option<Uuid>) -> Result<Uuid> {
    let mut connection = context.read().await?;
    let mut query = query::in_scope(context.scope())
        .filter(in_live_tenant(context, users::tenant_id))
        .filter(users::email_norm.eq(email::normalized(address)))
        .select(users::id)
        .limit(2)
        .into_boxed();
    if let Some(tenant) = tenant {
        query = query.filter(users::tenant_id.eq(tenant));
    }
    let found: Vec<Uuid> = query.load(&mut *connection).await?;
    match found.as_slice() {
        [] => Err(Rejection::not_found("User not found").into()),
        [id] => Ok(*id),
        _ => {
            let text = "Several tenants have this address; name one with --tenant, or the platform with --platform";
            Err(Rejection::bad_request(text).into())
        }
    }
}

/// Returns all accounts of tenants that are not deleted, by tenant and address; at most 1000.
///
/// # Errors
/// If the database can't be reached.
pub async fn list_accounts(context: &RequestContext) -> Result<Vec<AccountSummary>> {
    let mut connection = context.read().await?;
    Ok(query::in_scope(context.scope())
        .filter(in_live_tenant(context, users::tenant_id))
        .order((users::tenant_id, users::email_norm))
        .limit(1000)
        .select((users::id, users::tenant_id, users::email, users::name, users::is_active))
        .load(&mut *connection)
        .await?)
}

/// Generates a password of 132 random bits.
#[must_use]
pub fn generate_password(ids: &Ids) -> String {
    let mut text = URL_SAFE_NO_PAD.encode(ids.random::<17>());
    text.truncate(22);
    text
}

/// Returns the role `superadmin`; creates it if missing.
async fn ensure_super_admin_role(context: &RequestContext) -> Result<Uuid> {
    let mut connection = context.read().await?;
    let found: Option<Uuid> = crate::roles::query::in_scope(context.scope())
        .filter(roles::tenant_id.eq(PLATFORM_TENANT))
        .filter(roles::name_norm.eq(seed::SUPER_ADMIN_ROLE))
        .select(roles::id)
        .first(&mut *connection)
        .await
        .optional()?;
    drop(connection);
    if let Some(id) = found {
        return Ok(id);
    }
    let input = RoleInput {
        name: Patch::Set(seed::SUPER_ADMIN_ROLE.to_owned()),
        tenant_id: Patch::Clear,
    };
    let command = CreateRole::new(context, input).await?;
    let Json(CreatedId { id }) = context.execute(&command, |id| Json(CreatedId { id })).await?;
    let input = AclInput {
        is_super_admin: Some(true),
        features: Some(Vec::new()),
        organizations: Patch::Clear,
    };
    context
        .execute(&UpdateRoleAcl { role: id, input }, |_| Json(Value::Null))
        .await?;
    Ok(id)
}

async fn hashed(context: &RequestContext, password: &SecretString, address: &str) -> Result<SecretString> {
    let accounts: Arc<Accounts> = context.call().provided()?;
    accounts.policy.check(password, address)?;
    Ok(accounts.hasher.hash(context.ids(), password).await?.into())
}
