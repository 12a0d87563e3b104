//! Forgotten passwords. Responses do not reveal whether an address is known, or why a token is not valid.

use std::sync::Arc;

use actix_web::HttpRequest;
use backoffice_core::http::{Access, Done, Form, Json, Routes, wire_tenant};
use backoffice_core::identity::{ActorKind, Identity};
use backoffice_core::input::Input;
use backoffice_core::jobs::{NewJob, enqueue};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Call, ErrorShape, RequestContext, Result, Scope, Visitor};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::invitations::origin;
use crate::accounts::Accounts;
use crate::login_address::login_address;
use crate::mails::jobs::RequestResets;
use crate::mails::letters;
use crate::sessions::one_time_token::{self, LiveToken};
use crate::users::commands::ResetPassword;
use crate::{Error, email};

pub(crate) const RESET_BY_IP: RateLimit = RateLimit::new("auth.reset.ip", 10, 60);
pub(crate) const RESET_BY_ACCOUNT: RateLimit = RateLimit::new("auth.reset.account", 3, 60);
pub(crate) const VALIDATE_BY_IP: RateLimit = RateLimit::new("auth.reset_validate.ip", 20, 300);
pub(crate) const VALIDATE_BY_TOKEN: RateLimit = RateLimit::new("auth.reset_validate.token", 5, 300);
pub(crate) const CONFIRM_BY_IP: RateLimit = RateLimit::new("auth.reset_confirm.ip", 20, 300);
pub(crate) const CONFIRM_BY_TOKEN: RateLimit = RateLimit::new("auth.reset_confirm.token", 5, 300);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/auth/reset", Access::Public, request_reset)
        .about("Send a link that replaces a forgotten password; the response is the same for every address")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid request")
        .limit(RESET_BY_IP)
        .rejects(&[500]);
    routes
        .post("/auth/reset/validate", Access::Public, validate_token)
        .about("Whether a token could set a password now")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid request")
        .limit(VALIDATE_BY_IP);
    routes
        .post("/auth/reset/confirm", Access::Public, confirm_reset)
        .about("Set a password with a token from a reset mail or an invitation")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid request")
        .limit(CONFIRM_BY_IP);
}

/// A forgotten password.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct ResetRequest {
    /// Address of the account.
    #[serde(default)]
    #[schema(value_type = String)]
    email: Value,
}

impl Input for ResetRequest {
    /// An address with the character is one that no account has.
    const ACCEPTS_NUL: &'static [&'static str] = &["email"];
}

async fn request_reset(visitor: Visitor, request: HttpRequest, form: Form<ResetRequest>) -> Result<Json<Done>> {
    let call = &*visitor;
    let address = form.0.email.as_str().unwrap_or_default();
    if email::is_valid(address) {
        // An invalid address has no account, and clients that send one must not share a limit.
        call.platform()
            .rate_limits()
            .count(call, RESET_BY_ACCOUNT, &email::normalized(address))
            .await?;
    }
    if !letters::is_configured(call) {
        return Err(Error::ResetNotConfigured.into());
    }
    if letters::is_foreign_origin(call, origin(&request).as_deref()) {
        return Err(Error::InvalidOrigin.into());
    }
    if email::is_valid(address) {
        let job = RequestResets {
            email_norm: email::normalized(address),
        };
        let platform = backoffice_core::ids::PLATFORM_TENANT;
        let mut connection = call.database().unlogged(&Scope::tenant(platform)).await?;
        enqueue(&mut connection, call, &NewJob::of_system(platform, job)).await?;
    }
    Ok(Json(Done::OK))
}

/// A token to validate.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct TokenForm {
    /// The token from the link of the mail.
    #[serde(default)]
    #[schema(value_type = String)]
    token: Value,
}

impl Input for TokenForm {
    /// A token with the character is one that does not exist.
    const ACCEPTS_NUL: &'static [&'static str] = &["token"];
}

/// Whether the token can be used now.
#[derive(Debug, Serialize, ToSchema)]
struct Validity {
    ok: bool,
    valid: bool,
}

async fn validate_token(visitor: Visitor, form: Form<TokenForm>) -> Result<Json<Validity>> {
    let call = &*visitor;
    let token = form.0.token.as_str().unwrap_or_default();
    count_token(call, VALIDATE_BY_TOKEN, token).await?;
    let live = one_time_token::find_live(call, token).await?;
    Ok(Json(Validity {
        ok: true,
        valid: live.is_some(),
    }))
}

/// A new password.
#[derive(Debug, Deserialize, ToSchema)]
struct NewPassword {
    /// The token from the link of the mail; neither used nor expired.
    token: String,
    /// 8 to 256 characters in NFC, unless the configuration has other bounds; not a common password, and not the address of the account.
    #[schema(value_type = String, format = Password, min_length = 8, max_length = 256)]
    password: SecretString,
}

impl Input for NewPassword {
    /// A token with the character is one that does not exist; the policy decides about the password.
    const ACCEPTS_NUL: &'static [&'static str] = &["token", "password"];
}

/// The page to sign in.
#[derive(Debug, Serialize, ToSchema)]
struct PasswordSet {
    ok: bool,
    /// The login page, with the tenant of the account.
    redirect: String,
}

async fn confirm_reset(visitor: Visitor, form: Form<NewPassword>) -> Result<Json<PasswordSet>> {
    let call = &*visitor;
    count_token(call, CONFIRM_BY_TOKEN, &form.0.token).await?;
    let Some(live) = one_time_token::find_live(call, &form.0.token).await? else {
        return Err(Error::InvalidToken.into());
    };
    let accounts: Arc<Accounts> = call.provided()?;
    accounts.policy.check(&form.0.password, &live.email)?;
    let hash = accounts.hasher.hash(call.platform().ids(), &form.0.password).await?;
    let command = ResetPassword {
        id: live.user_id,
        token: live.id,
        password_hash: hash.into(),
    };
    let redirect = login_page(call, &live);
    let context = RequestContext::new(call.clone(), Arc::new(holder(&live)), Scope::tenant(live.tenant_id));
    context
        .execute(&command, |()| {
            Json(PasswordSet {
                ok: true,
                redirect: redirect.clone(),
            })
        })
        .await
}

/// Returns the identity that the holder of a token acts with: that of its user, without any right.
fn holder(live: &LiveToken) -> Identity {
    Identity {
        kind: ActorKind::User,
        id: Some(live.user_id),
        name: Some(live.name.clone()),
        tenant: live.tenant_id,
        organization: None,
        rights: backoffice_core::acl::Rights::none(),
        roles: Vec::new(),
        session: None,
    }
}

fn login_page(call: &Call, live: &LiveToken) -> String {
    let path = &call.platform().app().login_path;
    let query = wire_tenant(live.tenant_id).map(|tenant| format!("tenant={tenant}"));
    login_address(path, query.as_deref().unwrap_or_default())
}

/// Counts the use of a token by the client's address; the limit keeps only a hash of both.
async fn count_token(call: &Call, limit: RateLimit, token: &str) -> Result<()> {
    call.platform()
        .rate_limits()
        .count(call, limit, &format!("{} {token}", call.network()))
        .await
}
