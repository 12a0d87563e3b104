//! The link of the mail. A browser with the cookie of the submission, and a program that asks for JSON, verify the request at once; any other browser
//! must send the password of the submission, so that programs that open the links of mails do not create tenants.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use backoffice_auth::Accounts;
use backoffice_core::http::{Access, Attempt, Form, Json, OrPage, Query, Routes, protected, wants_page};
use backoffice_core::input::Input;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Call, ErrorShape, Rejection, Result, Visitor};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{cookie_token, enabled, system};
use crate::commands::VerifyRequest;
use crate::documented::{self, OnboardingRejectedStatus, OnboardingVerifiedStatus, WRONG_PASSWORD};
use crate::model::{COMPLETED, NEW, PENDING, PROCESSING};
use crate::pages::{self, rejection};
use crate::query::{self, Stored};
use crate::sign_up::{self, CONFIRMED, INVALID, PREPARING, SignUp};
use crate::token;

/// Uses of links.
pub(super) const VERIFY_BY_IP: RateLimit = RateLimit::new("onboarding.verify.ip", 10, 60);

const PATH: &str = "/onboarding/onboarding/verify";
const INVALID_LINK: &str = "Invalid or expired link";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get(PATH, Access::Public, verify_onboarding)
        .about("Verify a request with the link of its mail, or ask for its password; a page unless `Accept` is `application/json`")
        .errors(ErrorShape::OkFalse)
        .or_page(rejection)
        .limit(VERIFY_BY_IP)
        .rejects(&[404])
        .rejects_with::<OnboardingRejectedStatus>(400, "status");
    routes
        .post(PATH, Access::Public, verify_onboarding_with_password)
        .about("Verify a request with the link of its mail and its password")
        .errors(ErrorShape::OkFalse)
        .or_page(rejection)
        .limit(VERIFY_BY_IP)
        .rejects(&[404, 429])
        .rejects_with::<OnboardingRejectedStatus>(400, "status");
}

/// The link.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct VerifyQuery {
    /// The token of the link.
    token: Option<String>,
}

/// The link, with the password of the submission.
#[derive(Debug, Deserialize, ToSchema)]
struct VerifyForm {
    /// The token of the link.
    token: String,
    /// The password of the submission; the fifth wrong one ends the request.
    #[schema(value_type = String, format = Password)]
    password: SecretString,
}

impl Input for VerifyForm {
    const ACCEPTS_NUL: &'static [&'static str] = &["token", "password"];
}

/// A verified request.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Verified {
    ok: bool,
    /// `processing` or `completed`.
    #[schema(value_type = OnboardingVerifiedStatus)]
    status: &'static str,
    /// The tenant, once it can be used.
    #[schema(required = true)]
    tenant_id: Option<Uuid>,
    /// Address of the sign-in to the tenant, once it can be used.
    #[schema(required = true)]
    login_url: Option<String>,
}

type Response = OrPage<Json<Verified>>;

/// What a link leads to.
enum State {
    /// The request waits for its verification.
    Pending(Box<Stored>),
    /// The tenant is being created.
    Processing(Box<Stored>),
    /// The tenant exists.
    Completed(Uuid),
    /// The link is unknown, or it does not work any more.
    Invalid,
}

impl State {
    async fn of(call: &Call, token: &str) -> Result<Self> {
        let stored = match token::hash_of(token) {
            Some(hash) => query::by_token(call, &hash).await?,
            None => None,
        };
        let Some(stored) = stored.filter(|stored| stored.request.kind == NEW) else {
            return Ok(Self::Invalid);
        };
        let state = match (stored.request.status_at(call.now), stored.request.new_tenant_id) {
            (PENDING, _) => Self::Pending(Box::new(stored)),
            (PROCESSING, _) => Self::Processing(Box::new(stored)),
            (COMPLETED, Some(tenant)) => Self::Completed(tenant),
            _ => Self::Invalid,
        };
        Ok(state)
    }
}

/// A request for a verification.
struct Verification<'a> {
    call: &'a Call,
    request: &'a HttpRequest,
    sign_up: Arc<SignUp>,
    page: bool,
}

impl Verification<'_> {
    /// Whether this browser has the cookie of the request.
    fn is_own(&self, stored: &Stored) -> bool {
        let presented = cookie_token(self.call, self.request).and_then(|token| token::hash_of(&token));
        presented.is_some() && presented == stored.status_token_hash
    }

    async fn leading_to(&self, status: StatusCode, address: String) -> Result<Response> {
        let page = pages::leading_to(&self.sign_up, self.call, self.request, status, address).await?;
        Ok(OrPage::Page(protected(page, "no-referrer")))
    }

    /// Returns the response for a request that is not pending.
    async fn respond(&self, state: &State) -> Result<Response> {
        let platform = self.call.platform();
        let login = |tenant| sign_up::login_url(platform, Some(tenant));
        if self.page {
            let address = match state {
                State::Completed(tenant) => login(*tenant),
                State::Processing(stored) if self.is_own(stored) => sign_up::public(platform, PREPARING),
                // The cookie, if there is one, would show another request.
                State::Processing(_) => sign_up::public(platform, CONFIRMED),
                State::Pending(_) | State::Invalid => sign_up::public(platform, INVALID),
            };
            return self.leading_to(StatusCode::OK, address).await;
        }
        let (status, tenant_id) = match state {
            State::Completed(tenant) => (COMPLETED, Some(*tenant)),
            State::Processing(_) => (PROCESSING, None),
            State::Pending(_) | State::Invalid => {
                let rejection = Rejection::bad_request(INVALID_LINK);
                return Err(rejection.with("status", json!(documented::INVALID)).into());
            }
        };
        Ok(OrPage::Data(Json(Verified {
            ok: true,
            status,
            tenant_id,
            login_url: tenant_id.map(login),
        })))
    }

    /// Verifies a pending request.
    async fn verify(&self, stored: Box<Stored>) -> Result<Response> {
        let command = VerifyRequest {
            id: stored.request.id,
            email_hash: stored.email_hash.clone().unwrap_or_default(),
        };
        let context = system(self.call);
        // Another request may have verified it, or ended it, at the same time.
        let outcome = context.execute(&command, Json).await?.0;
        self.respond(&match (outcome.status.as_str(), outcome.tenant) {
            (PROCESSING, _) => State::Processing(stored),
            (COMPLETED, Some(tenant)) => State::Completed(tenant),
            _ => State::Invalid,
        })
        .await
    }

    /// Asks for the password of the submission.
    async fn ask(&self, status: StatusCode, token: &str, is_wrong: bool) -> Result<Response> {
        let page = pages::password(&self.sign_up, self.call, self.request, status, token, is_wrong).await?;
        Ok(OrPage::Page(protected(page, "no-referrer")))
    }
}

async fn verify_onboarding(
    visitor: Visitor,
    request: HttpRequest,
    query: Attempt<Query<VerifyQuery>>,
) -> Result<Response> {
    let call = &*visitor;
    let verification = Verification {
        call,
        request: &request,
        sign_up: enabled(call)?,
        page: wants_page(&request, true),
    };
    // A query that can't be read is a link that does not work.
    let token = query.0.ok().and_then(|query| query.0.token).unwrap_or_default();
    let state = State::of(call, &token).await?;
    let State::Pending(stored) = state else {
        return verification.respond(&state).await;
    };
    match verification.page && !verification.is_own(&stored) {
        true => verification.ask(StatusCode::OK, &token, false).await,
        false => verification.verify(stored).await,
    }
}

async fn verify_onboarding_with_password(
    visitor: Visitor,
    request: HttpRequest,
    form: Attempt<Form<VerifyForm>>,
) -> Result<Response> {
    let call = &*visitor;
    let verification = Verification {
        call,
        request: &request,
        sign_up: enabled(call)?,
        page: wants_page(&request, false),
    };
    let VerifyForm { token, password } = form.0?.0;
    let state = State::of(call, &token).await?;
    let State::Pending(stored) = state else {
        return verification.respond(&state).await;
    };
    let accounts: Arc<Accounts> = call.provided()?;
    let position = accounts.hashing_queue_position()?;
    // Counted before the comparison, so that attempts at the same time are counted too.
    if !query::count_attempt(call, stored.request.id).await? {
        return verification.respond(&State::Invalid).await;
    }
    let hash = stored.password_hash.as_deref();
    if accounts.has_hash(position, &password, hash).await? {
        return verification.verify(stored).await;
    }
    query::expire_attempted(call, stored.request.id).await?;
    if verification.page {
        // The fifth wrong password has ended the request; another client may have verified it meanwhile.
        return match State::of(call, &token).await? {
            State::Pending(_) => verification.ask(StatusCode::BAD_REQUEST, &token, true).await,
            State::Invalid => {
                let address = sign_up::public(call.platform(), INVALID);
                verification.leading_to(StatusCode::BAD_REQUEST, address).await
            }
            state => verification.respond(&state).await,
        };
    }
    let rejection = Rejection::bad_request("Wrong password");
    Err(rejection.with("status", json!(WRONG_PASSWORD)).into())
}
