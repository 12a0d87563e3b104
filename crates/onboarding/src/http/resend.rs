//! Another mail with a link. The response reveals nothing about the request.

use backoffice_core::http::{Access, Attempt, Done, Form, Json, Routes};
use backoffice_core::input::Input;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{ErrorShape, Result, Visitor};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::enabled;
use crate::jobs::SendLink;
use crate::model::PENDING;
use crate::{mail_limits, query, token};

/// Requests for another mail.
pub(super) const RESEND_BY_IP: RateLimit = RateLimit::new("onboarding.resend.ip", 5, 300);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/onboarding/onboarding/resend", Access::Public, resend_onboarding_link)
        .about(
            "Send another mail with a link, which replaces the earlier link; the response is the same for every token",
        )
        .errors(ErrorShape::OkFalse)
        .limit(RESEND_BY_IP)
        .rejects(&[404]);
}

/// The request for which another mail is sent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ResendForm {
    /// The `statusToken` of the submission.
    #[serde(default)]
    #[schema(value_type = String)]
    status_token: Value,
}

impl Input for ResendForm {
    const ACCEPTS_NUL: &'static [&'static str] = &["statusToken"];
}

async fn resend_onboarding_link(visitor: Visitor, form: Attempt<Form<ResendForm>>) -> Result<Json<Done>> {
    let call = &*visitor;
    enabled(call)?;
    let Form(form) = form.0?;
    let stored = match form.status_token.as_str().and_then(token::hash_of) {
        Some(hash) => query::by_status_token(call, &hash).await?,
        None => None,
    };
    let pending = stored.filter(|stored| stored.request.status_at(call.now) == PENDING);
    if let Some(stored) = pending
        && let Some(email_hash) = &stored.email_hash
        && mail_limits::admit(call, email_hash).await?
    {
        SendLink::of(stored.request.id).enqueue(call).await?;
    }
    Ok(Json(Done::OK))
}
