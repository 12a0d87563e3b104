//! The submission of the form. The response is the same for addresses with and without an account, in contents and in time.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::StatusCode;
use actix_web::http::header::ORIGIN;
use backoffice_auth::{Accounts, has_account, is_foreign_origin, is_mail_configured, normalized_address};
use backoffice_core::http::{Access, Attempt, Cookies, Created, Form, OrPage, Routes};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Error, ErrorShape, Rejection, Result, Scope, Timestamp, Visitor};
use backoffice_directory::config::Settings;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::negotiate::{protected, rejection, wants_page};
use super::{STATUS_COOKIE, enabled, system};
use crate::commands::SubmitRequest;
use crate::form::Submission;
use crate::model::{EMAIL, EXISTING, NEW, PENDING};
use crate::sign_up::PREPARING;
use crate::token::Token;
use crate::{mail_limits, pages, sign_up};

/// Submissions.
pub(super) const SUBMIT_BY_IP: RateLimit = RateLimit::new("onboarding.submit.ip", 10, 60);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/onboarding/onboarding", Access::Public, submit_onboarding)
        .about("Sign up: ask for a tenant of one's own; the response is the same for every address")
        .errors(ErrorShape::OkFalse)
        .or_page(rejection)
        .limit(SUBMIT_BY_IP)
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
    status: &'static str,
    /// Shows the status of the request.
    status_token: String,
    /// Time until which the link of the mail works.
    expires_at: Timestamp,
}

type Response = Cookies<OrPage<Created<Submitted>>>;

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
    let accounts: Arc<Accounts> = call.provided()?;
    let position = accounts.hashing_queue_position()?;
    let page = wants_page(&request, false);
    let settings: Arc<Settings> = call.provided()?;
    let checked = match form.check(&accounts, &settings) {
        Ok(checked) => checked,
        Err(details) if page => {
            let page = pages::form(&sign_up, call, &request, StatusCode::BAD_REQUEST, &form, &details).await?;
            return Ok(without_cookies(OrPage::Page(protected(page, "same-origin"))));
        }
        Err(details) => return Err(with_field_errors(Rejection::invalid(details)).into()),
    };
    let password_hash = accounts
        .hash_password(position, call.platform().ids(), &form.password)
        .await?;
    let email_norm = normalized_address(&checked.email);
    let vault = call.platform().vault();
    let email_hash = vault
        .fingerprint(PLATFORM_TENANT, EMAIL, email_norm.as_bytes())?
        .to_vec();
    let has_account = {
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        has_account(&mut connection, &email_norm).await?
    };
    let sends_mail = mail_limits::admit(call, &email_hash).await?;
    let status_token = Token::mint(call.platform().ids());
    let context = system(call);
    let life = time::Duration::try_from(sign_up.config.link_life).unwrap_or(time::Duration::DAY);
    let command = SubmitRequest {
        id: context.new_id(),
        has_account,
        email: checked.email.clone(),
        email_hash,
        first_name: checked.first_name,
        last_name: checked.last_name,
        organization_name: checked.organization_name,
        password_hash,
        locale: checked.locale,
        marketing_consent: form.marketing_consent.0,
        status_token_hash: status_token.hash(),
        expires_at: call.now.after(life),
        sends_mail,
    };
    let submitted = |()| {
        Created(Submitted {
            ok: true,
            email: checked.email.clone(),
            status: PENDING,
            status_token: status_token.clear().to_owned(),
            expires_at: command.expires_at,
        })
    };
    let data = context.execute(&command, submitted).await?;
    let kind = if has_account { EXISTING } else { NEW };
    metrics::counter!("onboarding_requests_total", "kind" => kind).increment(1);
    let response = if page {
        let address = sign_up::public(call.platform(), PREPARING);
        let page = pages::leading_to(&sign_up, call, &request, StatusCode::CREATED, address).await?;
        OrPage::Page(protected(page, "no-referrer"))
    } else {
        OrPage::Data(data)
    };
    let cookie = Cookie::build(STATUS_COOKIE, status_token.clear().to_owned())
        .path("/")
        .http_only(true)
        .same_site(SameSite::Lax)
        .secure(!call.platform().insecure_cookies())
        .max_age(life)
        .finish();
    Ok(Cookies {
        response,
        cookies: vec![cookie],
    })
}

fn without_cookies(response: OrPage<Created<Submitted>>) -> Response {
    Cookies {
        response,
        cookies: Vec::new(),
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
