//! The status of a request, for the person who holds its status token.

use actix_web::HttpRequest;
use backoffice_core::http::{Access, Attempt, CheckedQuery, Json, QueryInput, Routes, presented_cookie};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Call, ErrorShape, Rejection, Result, Violations, Visitor};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::enabled;
use crate::documented::OnboardingRequestStatus;
use crate::model::{COMPLETED, Request};
use crate::{query, sign_up, token};

/// Requests for a status.
pub(super) const STATUS_BY_IP: RateLimit = RateLimit::new("onboarding.status.ip", 60, 60);
/// The cookie with the status token.
pub(crate) const STATUS_COOKIE: &str = "onboarding_status";

pub(super) fn routes(routes: &mut Routes) {
    routes
        .get("/onboarding/onboarding/status", Access::Public, show_onboarding_status)
        .about("Show the progress of the preparation of a tenant")
        .errors(ErrorShape::OkFalse)
        .limit(STATUS_BY_IP)
        .rejects(&[404]);
}

/// The request whose status is shown.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct StatusQuery {
    /// The `statusToken` of the submission; by default that of the cookie `onboarding_status`.
    status_token: Option<String>,
}

impl QueryInput for StatusQuery {
    /// A token with the character is one that does not exist.
    const ACCEPTS_NUL: &'static [&'static str] = &["statusToken"];

    fn validate(&self, _violations: &mut Violations) {}
}

/// The status of a request.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct OnboardingStatus {
    ok: bool,
    /// `pending`, `processing`, `completed`, `expired` or `failed`.
    #[schema(value_type = OnboardingRequestStatus)]
    status: String,
    /// Whether the tenant can be used.
    ready: bool,
    /// Whether the mail with the link was sent.
    email_sent: bool,
    /// The tenant, once it can be used.
    #[schema(required = true)]
    tenant_id: Option<Uuid>,
    /// Address of the sign-in to the tenant, once it can be used.
    #[schema(required = true)]
    login_url: Option<String>,
}

impl OnboardingStatus {
    fn of(call: &Call, request: &Request) -> Self {
        let status = request.status_at(call.now);
        let tenant_id = request.new_tenant_id.filter(|_| status == COMPLETED);
        Self {
            ok: true,
            status: status.to_owned(),
            ready: status == COMPLETED,
            email_sent: request.email_sent_at.is_some(),
            tenant_id,
            login_url: tenant_id.map(|tenant| sign_up::login_url(call.platform(), Some(tenant))),
        }
    }
}

/// Returns the status token of the cookie.
pub(crate) fn cookie_token(call: &Call, request: &HttpRequest) -> Option<String> {
    presented_cookie(call, request, STATUS_COOKIE)
}

async fn show_onboarding_status(
    visitor: Visitor,
    request: HttpRequest,
    query: Attempt<CheckedQuery<StatusQuery>>,
) -> Result<Json<OnboardingStatus>> {
    let call = &*visitor;
    enabled(call)?;
    let presented = query.0?.0.status_token.or_else(|| cookie_token(call, &request));
    let Some(presented) = presented.filter(|token| !token.is_empty()) else {
        return Err(Rejection::bad_request("The status token is missing").into());
    };
    let stored = match token::hash_of(&presented) {
        Some(hash) => query::by_status_token(call, &hash).await?,
        None => None,
    };
    let Some(stored) = stored else {
        return Err(Rejection::not_found("Request not found").into());
    };
    Ok(Json(OnboardingStatus::of(call, &stored.request)))
}
