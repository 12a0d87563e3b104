//! Invitations, by the endpoints of this module and by commands of others.

use std::sync::Arc;
use std::time::Duration;

use backoffice_core::command::Tx;
use backoffice_core::{RequestContext, Result};
use serde_json::Value;
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::mails::letters;
use crate::sessions::one_time_token::{self, NewToken, Purpose};

/// Longest time that a request waits for the mail server.
const LONGEST_SENDING: Duration = Duration::from_secs(10);

/// Creates a token for an invitation, which lives for `auth.invite.ttl` (48 hours by default).
///
/// # Errors
/// If the module is not started.
pub fn mint(ctx: &RequestContext) -> Result<NewToken> {
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    let life = accounts.config.invite_ttl();
    Ok(NewToken::mint(ctx.ids(), Purpose::Invite, ctx.now(), life))
}

/// Stores the token of an invitation inside a command on its user; voids all earlier tokens of the user.
///
/// # Errors
/// If the database can't be reached.
pub async fn issue(tx: &mut Tx<'_>, user: Uuid, token: &NewToken) -> Result<()> {
    one_time_token::issue(tx, user, token).await?;
    tx.wrote_secret("inviteToken");
    Ok(())
}

/// Mails an invitation once to a user of a tenant, after the command that issued its token; waits for the mail server for at most 10 seconds, and
/// holds no connection of the database meanwhile. Mail must be [configured](crate::is_mail_configured). Returns whether it was sent: a failure leaves
/// user and token in place, and users who were deleted or deactivated meanwhile get no mail.
/// The field `emailSent` of a response that is stored for an `Idempotency-Key` follows the result.
///
/// # Errors
/// If the database can't be reached.
pub async fn mail(ctx: &RequestContext, tenant: Uuid, user: Uuid, token: &NewToken) -> Result<bool> {
    let accounts: Arc<Accounts> = ctx.call().provided()?;
    let sending = letters::send_link(ctx.call(), &accounts, (tenant, user), token, Purpose::Invite);
    match tokio::time::timeout(LONGEST_SENDING, sending).await {
        Ok(Ok(true)) => {
            ctx.amend_response("emailSent", &Value::Bool(true)).await?;
            Ok(true)
        }
        Ok(Ok(false)) => Ok(false),
        Ok(Err(error)) => {
            tracing::warn!(%error, "invitation mail failed; it can be resent");
            Ok(false)
        }
        Err(_elapsed) => {
            tracing::warn!("invitation mail was not accepted in time; it can be resent");
            Ok(false)
        }
    }
}
