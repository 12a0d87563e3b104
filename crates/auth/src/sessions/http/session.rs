//! Signing in and out.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use backoffice_core::events::{Announcement, Event, announce_each};
use backoffice_core::http::{
    Access, Admission, Cookies, Describe, Extract, Form, Incoming, Json, Redirect, RequestOrigin, Routes,
    SESSION_COOKIE, Schemas, SignInAttempt, clear_cookies, presented_cookie, safe_local_path,
};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::input::{Bounded, Input, Validator};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::text::hex;
use backoffice_core::{Call, ErrorShape, Rejection, RequestContext, Result, Scope, Timestamp, Visitor};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use utoipa::openapi::path::OperationBuilder;
use uuid::Uuid;

use super::cookies::{access_cookies, sign_in_cookies};
use super::flag::Flag;
use super::typed::has_typed_length;
use crate::accounts::Accounts;
use crate::http::fields::{AccountEmail, RoleNames};
use crate::sessions::login::{self, Candidate};
use crate::sessions::session::{self, Account, Started};
use crate::users::password::QueuePosition;
use crate::{Error, email};

pub(crate) const LOGIN_BY_IP: RateLimit = RateLimit::new("auth.login.ip", 20, 60);
pub(crate) const LOGIN_BY_ACCOUNT_AND_IP: RateLimit = RateLimit::new("auth.login.account_ip", 5, 60).blocking(60);
/// Counts over all addresses. A successful sign-in does not reset it; otherwise an attacker could wait for the owner to sign in.
pub(crate) const LOGIN_BY_ACCOUNT: RateLimit = RateLimit::new("auth.login.account", 100, 3600);
pub(crate) const REFRESH_BY_IP: RateLimit = RateLimit::new("auth.refresh.ip", 60, 60);
pub(crate) const REFRESH_BY_TOKEN: RateLimit = RateLimit::new("auth.refresh.token", 15, 60);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/auth/login", Access::Public, login)
        .about("Sign in with e-mail address and password")
        .errors(ErrorShape::OkFalse)
        .invalid("Invalid request")
        .admitted_by(VERIFYING)
        .limit(LOGIN_BY_IP)
        .rejects(&[401, 403])
        .rejects_with::<Vec<TenantChoice>>(400, "tenants");
    routes
        .post("/auth/logout", Access::Authenticated, logout)
        .passes_over_selections()
        .about("End the session, or all sessions of the user")
        .without_command();
    routes
        .post("/auth/session/refresh", Access::Public, refresh)
        .about("A fresh access token for a refresh token")
        .errors(ErrorShape::OkFalse)
        .invalid("Missing refresh token")
        .limit(REFRESH_BY_IP)
        .rejects(&[401]);
}

/// Form of a sign-in.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LoginForm {
    /// E-mail address.
    #[schema(value_type = AccountEmail)]
    email: String,
    /// Password, 1 to 1024 bytes in NFC: as long as the 256 characters of the longest password can be. It may be sent in every form of its characters.
    #[schema(value_type = String, format = Password, min_length = 1, max_length = 1024)]
    password: SecretString,
    /// `true`, `1`, `yes` or `on`: the session lives longer.
    remember: Option<Flag>,
    /// Tenant of the account, required if several accounts have the address and the password.
    #[serde(alias = "tenant")]
    tenant_id: Option<Uuid>,
    /// Comma list of at most 20 role names; the user must have one of them.
    #[serde(alias = "role")]
    #[schema(value_type = Option<RoleNames>)]
    require_role: Option<String>,
    /// Path on this site to go to.
    redirect: Option<String>,
}

/// Most names in `requireRole`.
const MOST_ROLES: usize = 20;
/// Longest e-mail address in a form, in bytes.
const LONGEST_ADDRESS: usize = 1024;

impl LoginForm {
    /// Returns the names of the roles of which the user must have one, in lower case.
    fn roles(&self) -> Vec<String> {
        let lists = self.require_role.iter();
        let names = lists
            .flat_map(|list| list.split(','))
            .map(|name| name.trim().to_lowercase());
        names.filter(|name| !name.is_empty()).collect()
    }
}

impl Input for LoginForm {
    fn validate(&self, validator: &mut Validator) {
        if self.email.trim().is_empty() {
            validator.reject("email", "must not be blank", "required");
        }
        if self.email.len() > LONGEST_ADDRESS {
            validator.reject("email", format!("must be at most {LONGEST_ADDRESS} bytes"), "too_long");
        }
        if self.password.expose_secret().is_empty() {
            validator.reject("password", "must not be empty", "required");
        } else if !has_typed_length(&self.password) {
            validator.reject("password", "is longer than a password can be", "too_long");
        }
        if self.roles().len() > MOST_ROLES {
            validator.reject("requireRole", format!("must be at most {MOST_ROLES} names"), "too_long");
        }
    }
}

/// A new session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SignedIn {
    ok: bool,
    /// Access token, to be sent as `Authorization: Bearer`.
    token: String,
    /// The refresh token, which is exchanged for further access tokens.
    refresh_token: String,
    /// Life of the access token in seconds.
    expires_in: u64,
    /// Path on this site to go to.
    redirect: Option<String>,
}

/// A form whose rejection is delayed until the attempt is counted for its address.
struct SignIn {
    address: String,
    form: Result<LoginForm>,
    /// The instant at which the whole body was there: a client that sends it slowly shortens no delay that begins then.
    read_at: Timestamp,
}

/// The part of a form that the limit needs, whatever else the form contains.
#[derive(Debug, Deserialize)]
struct Named {
    email: String,
}

impl Input for Named {}

impl Extract for SignIn {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self {
            address: Form::<Named>::extract(incoming).map_or_else(|_| String::new(), |named| named.0.email),
            form: valid_form(incoming),
            read_at: incoming.call.platform().clock().now(),
        })
    }
}

/// Returns the form, or a rejection that reports everything that is wrong with it.
fn valid_form(incoming: &Incoming<'_>) -> Result<LoginForm> {
    let Form(form) = Form::<LoginForm>::extract(incoming)?;
    let mut validator = Validator::default();
    form.validate(&mut validator);
    let details = validator.into_details();
    if details.is_empty() {
        return Ok(form);
    }
    let rejection = Rejection::bad_request(incoming.invalid);
    Err(Rejection { details, ..rejection }.into())
}

impl Describe for SignIn {
    fn describe(operation: OperationBuilder, schemas: &mut Schemas) -> OperationBuilder {
        Form::<LoginForm>::describe(operation, schemas)
    }
}

async fn login(visitor: Visitor, request: HttpRequest, attempt: SignIn) -> Result<Cookies<Json<SignedIn>>> {
    let call = &*visitor;
    let accounts: Arc<Accounts> = call.provided()?;
    let address_hash = account_subject(&attempt.address);
    count_attempt(call, &attempt.address).await?;
    let form = attempt.form?;
    let roles = form.roles();
    let permit = match call.admitted() {
        Some(permit) => permit,
        None => accounts.hasher.permit().await?,
    };
    let candidates = login::candidates(call, &accounts, &form.email, form.tenant_id).await?;
    let matching = login::verified(&accounts, &permit, candidates.clone(), &form.password).await?;
    let chosen = match matching.as_slice() {
        [] => {
            drop(permit);
            return Err(not_matched(call, &accounts, &candidates, address_hash, attempt.read_at).await?);
        }
        [one] => one,
        several => return Err(ambiguous(several)),
    };
    if !roles.is_empty() && !login::holds_role(call, &chosen.candidate, &roles).await? {
        return Err(Rejection::forbidden("Not authorized for this area").into());
    }
    let remember = form.remember.is_some_and(Flag::is_set);
    let Some(session) = login::sign_in(call, &accounts, permit, chosen, &form.password, remember).await? else {
        return Err(not_matched(call, &accounts, &candidates, address_hash, attempt.read_at).await?);
    };
    forgive_attempts(call, &attempt.address).await?;
    Ok(Cookies {
        cookies: sign_in_cookies(call, &accounts, &request, &session).await?,
        response: Json(signed_in(call, &accounts, &form, session)),
    })
}

/// Reserves a queue position, then a permit for hashing. If the queue is full, nothing is counted or looked up, for any address.
const VERIFYING: Admission = Admission {
    reserve: |call| Ok(Box::new(call.provided::<Accounts>()?.hasher.queue_position()?)),
    take: permit_to_verify,
};

fn permit_to_verify(call: &Call, queue_position: Box<dyn Any + Send>) -> BoxFuture<'_, Result<Box<dyn Any + Send>>> {
    async move {
        let accounts: Arc<Accounts> = call.provided()?;
        let queue_position = queue_position
            .downcast::<QueuePosition>()
            .map_err(|_| backoffice_core::Error::internal("reservation is not a queue position for hashing"))?;
        let permit: Box<dyn Any + Send> = Box::new(accounts.hasher.acquire(*queue_position).await?);
        Ok(permit)
    }
    .boxed()
}

/// Counts an attempt to guess the password of an account: for the client, and for the account over all clients.
pub(crate) async fn count_attempt(call: &Call, address: &str) -> Result<()> {
    let limits = call.platform().rate_limits();
    let account = account_subject(address);
    let with_client = format!("{} {account}", call.network());
    limits.count(call, LOGIN_BY_ACCOUNT_AND_IP, &with_client).await?;
    if email::is_valid(address) {
        // An invalid address has no account, and clients that send one must not share a limit.
        limits.count(call, LOGIN_BY_ACCOUNT, &account).await?;
    }
    Ok(())
}

/// Resets the client's count of attempts at an account after it sent the right password, unless several tenants have an account with the address.
/// A client that knows the password of one of them could otherwise guess those of the others without this limit (decision 20).
pub(crate) async fn forgive_attempts(call: &Call, address: &str) -> Result<()> {
    if login::is_shared(call, address).await? {
        return Ok(());
    }
    let with_client = format!("{} {}", call.network(), account_subject(address));
    let limits = call.platform().rate_limits();
    limits.reset(call, LOGIN_BY_ACCOUNT_AND_IP, &with_client).await
}

/// Returns the account in the key of a limit: a hash.
fn account_subject(address: &str) -> String {
    hex(&Sha256::digest(email::normalized(address).as_bytes()))
}

/// Returns the invalid-credentials error, delayed to the minimum failure time.
async fn not_matched(
    call: &Call,
    accounts: &Accounts,
    candidates: &[Candidate],
    address_hash: String,
    read_at: Timestamp,
) -> Result<backoffice_core::Error> {
    let account = match candidates {
        [only] => Some((only.tenant_id, only.id)),
        _ => None,
    };
    call.attempts_sign_in(SignInAttempt { address_hash, account });
    announce_failures(call, candidates).await?;
    hold_back(call, read_at, accounts.config.login.failure_floor).await;
    Ok(Error::InvalidCredentials.into())
}

/// Waits until `floor` has passed since the request was read, by the platform's clock. A clock that was set back does not prolong the wait.
async fn hold_back(call: &Call, read_at: Timestamp, floor: Duration) {
    let clock = call.platform().clock();
    let passed = clock.now().unix_millis() - read_at.unix_millis();
    let passed = Duration::from_millis(u64::try_from(passed).unwrap_or(0));
    clock.sleep(floor.saturating_sub(passed)).await;
}

/// Announces failed sign-ins with one writing statement, whether the address is known or not.
async fn announce_failures(call: &Call, candidates: &[Candidate]) -> Result<()> {
    let mut announcements: Vec<Announcement> = candidates
        .iter()
        .map(|candidate| Announcement {
            tenant: candidate.tenant_id,
            organization: candidate.organization_id,
            event: Some(Event::new("auth.login.failed", candidate.id)),
        })
        .collect();
    if announcements.is_empty() {
        announcements.push(Announcement {
            tenant: PLATFORM_TENANT,
            organization: None,
            event: None,
        });
    }
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    announce_each(&mut connection, call, &announcements).await
}

/// A tenant in which the sign-in would succeed.
#[derive(Debug, Serialize, ToSchema)]
struct TenantChoice {
    id: Uuid,
    name: Option<String>,
}

fn ambiguous(several: &[login::Verified]) -> backoffice_core::Error {
    let choice = |one: &login::Verified| TenantChoice {
        id: one.candidate.tenant_id,
        name: one.candidate.tenant_name.clone(),
    };
    let tenants: Vec<TenantChoice> = several.iter().map(choice).collect();
    Rejection::bad_request("Several accounts match")
        .code("tenant_required")
        .with("tenants", json!(tenants))
        .into()
}

fn signed_in(call: &Call, accounts: &Accounts, form: &LoginForm, session: Started) -> SignedIn {
    let public_url = call.platform().app().public_url.as_deref();
    let default = &accounts.config.login.default_redirect;
    let redirect = form
        .redirect
        .as_deref()
        .and_then(|target| safe_local_path(target, public_url))
        .or_else(|| Some(default.clone()).filter(|path| !path.is_empty()));
    SignedIn {
        ok: true,
        token: session.access_token,
        refresh_token: session.refresh_token,
        expires_in: session.access_seconds,
        redirect,
    }
}

/// The sessions to end.
#[derive(Debug, Default, Deserialize, ToSchema)]
struct LogoutForm {
    /// Whether to end every session of the user.
    #[serde(default)]
    all: Option<Flag>,
}

impl Input for LogoutForm {}

async fn logout(ctx: RequestContext, request: HttpRequest, form: Form<LogoutForm>) -> Result<Cookies<Redirect>> {
    let call = ctx.call();
    if let Ok(user) = ctx.user_id() {
        let accounts: Arc<Accounts> = call.provided()?;
        let identity = ctx.identity();
        let account = Account {
            tenant: identity.tenant,
            id: user,
            organization: identity.organization,
        };
        let cookie = presented_cookie(call, &request, SESSION_COOKIE);
        let all = form.0.all.is_some_and(Flag::is_set);
        session::log_out(call, &accounts, &account, identity.session, cookie.as_deref(), all).await?;
    }
    let location = call.platform().app().login_path.clone();
    Ok(Cookies {
        response: Redirect { location },
        cookies: clear_cookies(call.platform().insecure_cookies()),
    })
}

/// A refresh token.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct RefreshForm {
    /// The refresh token from the sign-in, 1 to 512 characters.
    #[schema(value_type = String, min_length = 1, max_length = 512)]
    refresh_token: Bounded<String, 1, 512>,
}

impl Input for RefreshForm {}

/// A fresh access token.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Refreshed {
    ok: bool,
    access_token: String,
    /// Life of the access token in seconds.
    expires_in: u64,
}

async fn refresh(visitor: Visitor, form: Form<RefreshForm>) -> Result<Cookies<Json<Refreshed>>> {
    let call = &*visitor;
    let accounts: Arc<Accounts> = call.provided()?;
    let token = &form.0.refresh_token.0;
    call.platform()
        .rate_limits()
        .count(call, REFRESH_BY_TOKEN, token)
        .await?;
    let Some((access_token, expires_in)) = session::refresh(call, &accounts, token).await? else {
        return Err(Rejection {
            message: "Invalid or expired refresh token".into(),
            ..Rejection::unauthorized()
        }
        .into());
    };
    let cookies = match call.origin {
        RequestOrigin::Foreign => Vec::new(),
        RequestOrigin::Same | RequestOrigin::Unstated => access_cookies(call, &access_token, expires_in),
    };
    Ok(Cookies {
        response: Json(Refreshed {
            ok: true,
            access_token,
            expires_in,
        }),
        cookies,
    })
}
