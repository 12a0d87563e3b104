//! Invitations: links with which users set their first password.

use actix_web::HttpRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::ORIGIN;
use backoffice_core::http::{Json, Routes, requires};
use backoffice_core::input::Input;
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Detail, Rejection, RequestContext, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::mails::letters;
use crate::roles::grants;
use crate::sessions::one_time_token::NewToken;
use crate::users::commands::{InviteUser, check_invitable};
use crate::users::invitation;
use crate::users::query;
use crate::{Error, acl};

pub(crate) const RESEND_BY_TARGET: RateLimit = RateLimit::new("auth.resend_invite.target", 3, 300);
/// Limits the invitations that one user or key sends; the sender chooses a name that the mail contains.
pub(crate) const INVITE_BY_ACTOR: RateLimit = RateLimit::new("auth.users.invite", 100, 3600);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post(
            "/auth/users/resend-invite",
            requires(&[acl::USERS_CREATE]),
            resend_invite,
        )
        .across_tenants()
        .about("Send another invitation to a user without a password; earlier links become invalid")
        .rejects(&[404, 409, 422, 429, 500]);
}

/// Returns the token of the invitation for a new user, if one is sent: on request, or if there is no password and mail is configured. The
/// inner error is the reason why none can be sent.
pub(super) fn requested(
    ctx: &RequestContext,
    request: &HttpRequest,
    asked: Option<bool>,
    has_password: bool,
) -> Result<std::result::Result<Option<NewToken>, Error>> {
    Ok(match is_requested(ctx, request, asked, has_password) {
        Ok(true) => Ok(Some(invitation::mint(ctx)?)),
        Ok(false) => Ok(None),
        Err(reason) => Err(reason),
    })
}

fn is_requested(
    ctx: &RequestContext,
    request: &HttpRequest,
    asked: Option<bool>,
    has_password: bool,
) -> std::result::Result<bool, Error> {
    let call = ctx.call();
    let foreign = letters::is_foreign_origin(call, origin(request).as_deref());
    match asked {
        Some(true) if !letters::is_configured(call) => Err(Error::InvitationNotConfigured),
        Some(true) if foreign => Err(Error::InvalidOrigin),
        Some(true) => Ok(true),
        Some(false) => Ok(false),
        None => Ok(!has_password && letters::is_configured(call) && !foreign),
    }
}

/// Returns the header `Origin`; a value that is not valid text counts as a foreign origin.
pub(super) fn origin(request: &HttpRequest) -> Option<String> {
    let value = request.headers().get(ORIGIN)?;
    Some(value.to_str().unwrap_or("null").to_owned())
}

/// Counts an invitation mail for its sender, before anything is written.
pub(super) async fn count_mail(ctx: &RequestContext) -> Result<()> {
    let identity = ctx.identity();
    // The platform, which acts for rules, has one limit for each tenant.
    let actor = identity.id.unwrap_or(identity.tenant);
    let actor = format!("{} {actor}", identity.kind.as_str());
    ctx.platform()
        .rate_limits()
        .count(ctx.call(), INVITE_BY_ACTOR, &actor)
        .await
}

/// The user to invite again.
#[derive(Debug, Deserialize, ToSchema)]
struct Resend {
    /// The user's id.
    #[serde(default)]
    #[schema(value_type = Uuid, required = true)]
    id: Value,
}

impl Input for Resend {
    /// An id with the character is malformed.
    const ACCEPTS_NUL: &'static [&'static str] = &["id"];
}

/// The result of sending the mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Resent {
    ok: bool,
    /// Whether the mail was sent.
    email_sent: bool,
}

async fn resend_invite(ctx: RequestContext, request: HttpRequest, body: Json<Resend>) -> Result<Json<Resent>> {
    let call = ctx.call();
    let id: Uuid = body
        .0
        .id
        .as_str()
        .unwrap_or_default()
        .parse()
        .map_err(|_| unprocessable())?;
    // A repeat gets the stored response, whatever has become of the user and the limits.
    ctx.reject_repeat().await?;
    let configured = letters::is_configured(call);
    if configured && letters::is_foreign_origin(call, origin(&request).as_deref()) {
        return Err(Error::InvalidOrigin.into());
    }
    let (user, has_password) = {
        let mut connection = ctx.read().await?;
        let Some(user) = query::find(&mut connection, &ctx, id).await? else {
            return Err(Rejection::not_found("User not found").into());
        };
        grants::protect_seen(&ctx, &mut connection, user.tenant_id, user.id).await?;
        let hash = query::password_hash(&mut connection, user.tenant_id, user.id).await?;
        (user, hash.is_some())
    };
    // Keyed by user and tenant, so that spellings of the id share one limit, and only callers who see the user use it up.
    call.platform()
        .rate_limits()
        .count(call, RESEND_BY_TARGET, &format!("{} {}", user.tenant_id, user.id))
        .await?;
    check_invitable(user.is_active, has_password)?;
    if !configured {
        return Err(Error::InvitationNotConfigured.into());
    }
    count_mail(&ctx).await?;
    let command = InviteUser {
        id,
        token: invitation::mint(&ctx)?,
    };
    let mut resent = ctx
        .execute(&command, |()| {
            Json(Resent {
                ok: true,
                email_sent: false,
            })
        })
        .await?;
    resent.0.email_sent = invitation::mail(&ctx, user.tenant_id, user.id, &command.token).await?;
    Ok(resent)
}

fn unprocessable() -> backoffice_core::Error {
    Rejection::new(StatusCode::UNPROCESSABLE_ENTITY, "Validation failed")
        .detail(Detail::new("id", "must be a UUID", "invalid_value"))
        .into()
}
