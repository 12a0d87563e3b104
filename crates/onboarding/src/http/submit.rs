//! The submission of the form. The response is the same for addresses with and without an account, in contents and in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::StatusCode;
use actix_web::http::header::ORIGIN;
use backoffice_auth::{Accounts, has_account, is_foreign_origin, is_mail_configured, normalized_address};
use backoffice_core::blocking::QueuePosition;
use backoffice_core::http::{
    Access, Attempt, Cookies, Created, Done, Form, Json, OrPage, Routes, protected, wants_page,
};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Call, Error, ErrorShape, Rejection, Result, Scope, Timestamp, Visitor};
use backoffice_directory::config::Settings;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::{STATUS_COOKIE, enabled, system};
use crate::commands::SubmitRequest;
use crate::documented::OnboardingSubmittedStatus;
use crate::form::{Checked, Submission};
use crate::jobs::SendLink;
use crate::mail_limits;
use crate::model::{EMAIL, EXISTING, NEW, PENDING};
use crate::pages::{self, rejection};
use crate::query::{self, Stored};
use crate::sign_up::{self, PREPARING, SignUp};
use crate::token::Token;

/// Submissions.
pub(super) const SUBMIT_BY_IP: RateLimit = RateLimit::new("onboarding.submit.ip", 10, 60);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/onboarding/onboarding", Access::Public, submit_onboarding)
        .about("Sign up: ask for a tenant of one's own; the response is the same for every address")
        .errors(ErrorShape::OkFalse)
        .or_page(rejection)
        .limit(SUBMIT_BY_IP)
        .responses(&[200])
        .sends_headers(&["Set-Cookie"])
        .rejects(&[404, 429])
        .rejects_with::<BTreeMap<String, String>>(400, "fieldErrors");
}

/// A submitted request.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Submitted {
    ok: bool,
    /// The address to which the mail is sent.
    email: String,
    /// `pending`.
    #[schema(value_type = OnboardingSubmittedStatus)]
    status: &'static str,
    /// Shows the status of the request.
    status_token: String,
    /// Time until which the link of the mail works.
    expires_at: Timestamp,
}

type Response = Cookies<OrPage<Created<Submitted>>>;

/// A valid submission.
struct Valid<'a> {
    call: &'a Call,
    accounts: &'a Accounts,
    form: &'a Submission,
    checked: Checked,
    email_hash: Vec<u8>,
}

/// What is decided once for all attempts to store a submission.
struct Decided {
    password_hash: SecretString,
    has_account: bool,
    sends_mail: bool,
    expires_at: Timestamp,
}

impl Valid<'_> {
    /// Stores the submission, unless an earlier one of the same form has the same values: two clicks are one request, whose mail the person gets.
    async fn submit(&self, position: QueuePosition, expires_at: Timestamp) -> Result<Submitted> {
        let ids = self.call.platform().ids();
        let password_hash = self.accounts.hash_password(position, ids, &self.form.password).await?;
        let mut token = self.form.form_token.as_deref().and_then(Token::presented);
        if let Some(presented) = &token
            && let Some(stored) = query::by_status_token(self.call, &presented.hash()).await?
        {
            if self.is_same(&stored).await? {
                return Ok(self.submitted(presented, stored.request.expires_at));
            }
            token = None;
        }
        let has_account = {
            let mut connection = self.call.database().unlogged(&Scope::system()).await?;
            has_account(&mut connection, &normalized_address(&self.checked.email)).await?
        };
        let decided = Decided {
            password_hash,
            has_account,
            sends_mail: mail_limits::admit(self.call, &self.email_hash).await?,
            expires_at,
        };
        let token = token.unwrap_or_else(|| Token::mint(ids));
        match self.store(&token, &decided).await {
            Err(error) if SubmitRequest::is_taken(&error) => {}
            stored => return stored,
        }
        // Another submission of the form was stored at the same time.
        if let Some(stored) = query::by_status_token(self.call, &token.hash()).await?
            && self.is_same(&stored).await?
        {
            // The other submission sends none if this one was counted first.
            if decided.sends_mail {
                SendLink::first_of(stored.request.id).enqueue(self.call).await?;
            }
            return Ok(self.submitted(&token, stored.request.expires_at));
        }
        self.store(&Token::mint(ids), &decided).await
    }

    /// Returns whether a pending request has the values of this submission.
    async fn is_same(&self, stored: &Stored) -> Result<bool> {
        let (request, checked) = (&stored.request, &self.checked);
        let has_values = request.status_at(self.call.now) == PENDING
            && stored.email_hash.as_ref() == Some(&self.email_hash)
            && request.first_name == checked.first_name
            && request.last_name == checked.last_name
            && request.organization_name == checked.organization_name
            && request.locale == checked.locale
            && request.marketing_consent == self.form.marketing_consent.0;
        if !has_values {
            return Ok(false);
        }
        let position = self.accounts.hashing_queue_position()?;
        let hash = stored.password_hash.as_deref();
        self.accounts.has_hash(position, &self.form.password, hash).await
    }

    async fn store(&self, token: &Token, decided: &Decided) -> Result<Submitted> {
        let context = system(self.call);
        let checked = self.checked.clone();
        let command = SubmitRequest {
            id: context.new_id(),
            has_account: decided.has_account,
            email: checked.email,
            email_hash: self.email_hash.clone(),
            first_name: checked.first_name,
            last_name: checked.last_name,
            organization_name: checked.organization_name,
            password_hash: decided.password_hash.clone(),
            locale: checked.locale,
            marketing_consent: self.form.marketing_consent.0,
            status_token_hash: token.hash(),
            expires_at: decided.expires_at,
            sends_mail: decided.sends_mail,
        };
        context.execute(&command, |()| Json(Done::OK)).await?;
        let kind = if decided.has_account { EXISTING } else { NEW };
        metrics::counter!("onboarding_requests_total", "kind" => kind).increment(1);
        Ok(self.submitted(token, decided.expires_at))
    }

    fn submitted(&self, token: &Token, expires_at: Timestamp) -> Submitted {
        Submitted {
            ok: true,
            email: self.checked.email.clone(),
            status: PENDING,
            status_token: token.clear().to_owned(),
            expires_at,
        }
    }
}

async fn submit_onboarding(
    visitor: Visitor,
    request: HttpRequest,
    form: Attempt<Form<Submission>>,
) -> Result<Response> {
    let call = &*visitor;
    let sign_up = enabled(call)?;
    let origin = request.headers().get(ORIGIN);
    // A value that is not a text is no origin of this site.
    let origin = origin.map(|origin| origin.to_str().unwrap_or("null"));
    if is_foreign_origin(call, origin) {
        return Err(Rejection::bad_request("Invalid request origin").into());
    }
    if !is_mail_configured(call) {
        let text = "Sign-up is not configured";
        return Err(Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, text).into());
    }
    let Form(form) = match form.0 {
        Err(Error::Rejected(rejection)) => return Err(with_field_errors(*rejection).into()),
        form => form?,
    };
    let page = wants_page(&request, false);
    if page && let Some(language) = &form.language {
        return in_language(&sign_up, call, &request, &form, language).await;
    }
    let accounts: Arc<Accounts> = call.provided()?;
    let position = accounts.hashing_queue_position()?;
    let settings: Arc<Settings> = call.provided()?;
    let checked = match form.check(&accounts, &settings) {
        Ok(checked) => checked,
        Err(details) if page => {
            let visit = sign_up.visit(call, &request).await?;
            let page = pages::form(call, &request, &visit, StatusCode::BAD_REQUEST, &form, &details)?;
            return Ok(with_cookies(OrPage::Page(protected(page, "same-origin")), None));
        }
        Err(details) => return Err(with_field_errors(Rejection::invalid(details)).into()),
    };
    let address = normalized_address(&checked.email);
    let vault = call.platform().vault();
    let submission = Valid {
        call,
        accounts: &accounts,
        form: &form,
        checked,
        email_hash: vault.fingerprint(PLATFORM_TENANT, EMAIL, address.as_bytes())?.to_vec(),
    };
    let life = time::Duration::try_from(sign_up.config.link_life).unwrap_or(time::Duration::DAY);
    let submitted = submission.submit(position, call.now.after(life)).await?;
    let cookie = Cookie::build(STATUS_COOKIE, submitted.status_token.clone())
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(!call.platform().insecure_cookies())
        .max_age(life)
        .finish();
    let response = if page {
        let address = sign_up::public(call.platform(), PREPARING);
        let page = pages::leading_to(&sign_up, call, &request, StatusCode::CREATED, address).await?;
        OrPage::Page(protected(page, "no-referrer"))
    } else {
        OrPage::Data(Created(submitted))
    };
    Ok(with_cookies(response, Some(cookie)))
}

/// Shows the form with the given values in another language, and keeps this language.
async fn in_language(
    sign_up: &SignUp,
    call: &Call,
    request: &HttpRequest,
    form: &Submission,
    language: &str,
) -> Result<Response> {
    let visit = sign_up.visit(call, request).await?.in_language(language);
    let page = pages::form(call, request, &visit, StatusCode::OK, form, &[])?;
    let page = OrPage::Page(protected(page, "same-origin"));
    Ok(with_cookies(page, visit.cookie_of_language(call)))
}

fn with_cookies(response: OrPage<Created<Submitted>>, cookie: Option<Cookie<'static>>) -> Response {
    Cookies {
        response,
        cookies: cookie.into_iter().collect(),
    }
}

/// Adds one message for each invalid field.
fn with_field_errors(rejection: Rejection) -> Rejection {
    let mut fields = Map::new();
    for detail in &rejection.details {
        fields
            .entry(detail.path.clone())
            .or_insert_with(|| json!(detail.message));
    }
    rejection.with("fieldErrors", Value::Object(fields))
}
