//! Invitations: users who set their first password with a link that is mailed to them.

use backoffice_auth::invitation;
use backoffice_core::http::{Created, Json, Path, Routes, requires};
use backoffice_core::input::{Input, Validator};
use backoffice_core::rate_limit::RateLimit;
use backoffice_core::{Patch, RequestContext, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{UserPath, check_configured};
use crate::commands::{InviteUser, ResendInvitation, check_invitable};
use crate::error::{Error, found};
use crate::values::{self, AccessName, AccessRole, TeamRole};
use crate::{acl, query};

/// Limits the invitations that one user or key sends.
pub(super) const INVITE_BY_ACTOR: RateLimit = RateLimit::new("access.invite.actor", 20, 3600);
/// Limits the invitations that are sent to one address in a tenant.
pub(super) const INVITE_BY_ADDRESS: RateLimit = RateLimit::new("access.invite.address", 3, 300);
/// Limits the mails to one invited user.
pub(super) const RESEND_BY_TARGET: RateLimit = RateLimit::new("access.resend_invite.target", 3, 300);

pub(super) fn routes(routes: &mut Routes) {
    routes
        .post("/access/users", requires(&[acl::USERS_MANAGE]), create_access_user)
        .about("Invite a user: create an account without a password and mail a link with which the user sets one within 48 hours")
        .rejects(&[409, 422, 429, 500]);
    routes
        .post(
            "/access/users/{id}/resend-invite",
            requires(&[acl::USERS_MANAGE]),
            resend_access_invite,
        )
        .about("Mail another link to a user without a password; earlier links stop working")
        .rejects(&[404, 409, 422, 429, 500]);
}

/// A user to invite.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
struct NewAccessUser {
    /// E-mail address, at most 254 characters, unique in the tenant without regard to case.
    #[schema(value_type = backoffice_auth::AccountEmail, required = true)]
    email: Patch<String>,
    /// Name: 1 to 120 characters, not counting surrounding white space; no control characters.
    #[schema(value_type = AccessName, required = true)]
    name: Patch<String>,
    /// The role. The caller must hold all of its features.
    #[schema(value_type = AccessRole, required = true)]
    role: Patch<String>,
}

impl NewAccessUser {
    fn accept(&self, validator: &mut Validator) -> Option<(String, String, TeamRole)> {
        let email = validator.accept("email", values::email(&self.email));
        let name = validator.accept("name", values::name(&self.name));
        let role = validator.accept("role", values::role(&self.role));
        Some((email?, name?, role?))
    }
}

impl Input for NewAccessUser {
    fn validate(&self, validator: &mut Validator) {
        self.accept(validator);
    }
}

/// The invited user.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct InvitedAccessUser {
    /// The id.
    id: Uuid,
    /// Whether the mail was sent; if not, the user exists, and the invitation can be resent.
    email_sent: bool,
}

async fn create_access_user(ctx: RequestContext, body: Json<NewAccessUser>) -> Result<Created<InvitedAccessUser>> {
    let mut validator = Validator::default();
    let Some((email, name, role)) = body.0.accept(&mut validator) else {
        return Err(validator.check().err().unwrap_or_else(|| Error::RoleMissing.into()));
    };
    ctx.reject_repeat().await?;
    let command = InviteUser::new(&ctx, email, name, role)?;
    check_configured(&ctx)?;
    count_invitation(&ctx, &command).await?;
    let mut created = ctx
        .execute(&command, |id| Created(InvitedAccessUser { id, email_sent: false }))
        .await?;
    created.0.email_sent = invitation::mail(&ctx, command.placement.tenant, created.0.id, &command.token).await?;
    Ok(created)
}

/// Counts an invitation for its sender and for its address, before anything is written.
async fn count_invitation(ctx: &RequestContext, command: &InviteUser) -> Result<()> {
    let (limits, identity) = (ctx.platform().rate_limits(), ctx.identity());
    // The platform, which acts for rules, has one limit for each tenant.
    let actor = identity.id.unwrap_or(command.placement.tenant);
    let actor = format!("{} {actor}", identity.kind.as_str());
    limits.count(ctx.call(), INVITE_BY_ACTOR, &actor).await?;
    let address = format!("{} {}", command.placement.tenant, command.email);
    limits.count(ctx.call(), INVITE_BY_ADDRESS, &address).await
}

/// The result of sending the mail.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ResentAccessInvite {
    /// Whether the mail was sent.
    email_sent: bool,
}

async fn resend_access_invite(ctx: RequestContext, path: Path<UserPath>) -> Result<Json<ResentAccessInvite>> {
    let id = path.0.id()?;
    // A repeat gets the stored response, whatever has become of the user and the limits.
    ctx.reject_repeat().await?;
    let user = {
        let connection = ctx.read().await?;
        let found = query::find(&connection, &ctx, id).await?;
        found.map(|(user, _)| user).ok_or(Error::UserNotFound)?
    };
    // Keyed by user and tenant: only callers who see the user use it up.
    let target = format!("{} {}", user.tenant_id, user.id);
    let limits = ctx.platform().rate_limits();
    limits.count(ctx.call(), RESEND_BY_TARGET, &target).await?;
    check_invitable(user.is_active, user.has_password)?;
    check_configured(&ctx)?;
    let token = invitation::mint(&ctx)?;
    let command = ResendInvitation { id, token };
    let executed = ctx.execute(&command, |()| Json(ResentAccessInvite { email_sent: false }));
    let mut resent = found(executed.await)?;
    resent.0.email_sent = invitation::mail(&ctx, user.tenant_id, user.id, &command.token).await?;
    Ok(resent)
}
