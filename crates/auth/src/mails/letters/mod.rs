//! The mails of this module, written in the language of the recipient's tenant.

mod letter;
mod texts;
mod user_mail;

use backoffice_core::text::one_line;
use backoffice_core::{Call, Result, Scope};
use backoffice_directory::config::Settings;
use url::Url;
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::foreign::{self, AddressingTenant};
use crate::sessions::one_time_token::{self, NewToken, Purpose};
use crate::users;
use texts::Texts;

pub use letter::Letter;
pub use user_mail::{UserMail, mail_user};

/// Returns whether mails with links can be sent: the public URL and the transport are configured.
#[must_use]
pub fn is_configured(call: &Call) -> bool {
    call.platform().app().public_url.is_some() && call.platform().mailer().is_some()
}

/// Returns whether the request comes from another origin than this site or an allowed one. Links never depend on the origin; the check keeps
/// other sites from sending mails to users.
#[must_use]
pub fn is_foreign_origin(call: &Call, origin: Option<&str>) -> bool {
    let app = call.platform().app();
    let Some(origin) = origin else { return false };
    let same = |known: &str| {
        Url::parse(known).is_ok_and(|known| Url::parse(origin).is_ok_and(|given| given.origin() == known.origin()))
    };
    // `null` and other opaque origins match nothing.
    !app.public_url
        .iter()
        .chain(&app.allowed_origins)
        .any(|known| same(known))
}

/// The recipient of a mail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipient<'a> {
    /// The tenant, whose language the mail has.
    pub(crate) tenant: Uuid,
    /// E-mail address.
    pub(crate) email: &'a str,
    /// The name in the greeting.
    pub(crate) name: Option<&'a str>,
}

/// Sends the link of a one-time token, after the command that stored it, to the address that the user has then: a change of the address voids the
/// tokens before it, so a replaced mailbox never gets a link that works. Callers must check that mail is configured. Returns whether the link was
/// sent; it is not if the user is gone or inactive by now.
pub(crate) async fn send_link(
    call: &Call,
    accounts: &Accounts,
    (tenant, user): (Uuid, Uuid),
    token: &NewToken,
    purpose: Purpose,
) -> Result<bool> {
    let user = {
        let scope = Scope::tenant(tenant);
        let connection = call.database().read_briefly(&scope).await?;
        users::query::own(&connection, &scope, user).await?
    };
    let Some(user) = user.filter(|user| user.is_active) else {
        return Ok(false);
    };
    let to = Recipient {
        tenant,
        email: &user.email,
        name: user.name.as_deref(),
    };
    let template = match purpose {
        Purpose::Reset => &accounts.config.reset.link,
        Purpose::Invite => &accounts.config.invite.link,
    };
    let public_url = call.platform().app().public_url.as_deref().unwrap_or_default();
    let link = template
        .replace("{public_url}", public_url.trim_end_matches('/'))
        .replace("{token}", token.clear());
    let pick = match purpose {
        Purpose::Reset => |texts: &'static Texts| &texts.reset,
        Purpose::Invite => |texts: &'static Texts| &texts.invitation,
    };
    send(call, to, pick, Some(&link)).await?;
    if purpose == Purpose::Invite
        && let Err(error) = one_time_token::mark_sent(call, to.tenant, token).await
    {
        // The mail was sent; only the lists of invitations do not show it.
        tracing::warn!(%error, "could not record that an invitation was sent");
    }
    Ok(true)
}

/// Notifies the old address that it was replaced.
pub(crate) async fn send_notice(call: &Call, to: Recipient<'_>) -> Result<()> {
    send(call, to, |texts| &texts.address_changed, None).await
}

/// Notifies a user that another user set their password.
pub(crate) async fn send_password_notice(call: &Call, to: Recipient<'_>) -> Result<()> {
    send(call, to, |texts| &texts.password_set, None).await
}

async fn send(
    call: &Call,
    to: Recipient<'_>,
    pick: fn(&'static Texts) -> &'static texts::Letter,
    link: Option<&str>,
) -> Result<()> {
    let tenant = {
        let connection = call.database().read_briefly(&Scope::tenant(to.tenant)).await?;
        foreign::addressing_tenant(&connection, to.tenant).await?
    };
    let texts = texts_for(call, tenant.as_ref())?;
    let letter = pick(texts);
    let name = one_line(tenant.as_ref().map_or("Backoffice", |tenant| &tenant.name));
    let filled = |line: &str| line.replace("{tenant}", &name);
    let letter = Letter {
        language: texts.code,
        subject: filled(letter.subject),
        greeting: texts.greeting_of(to.name),
        lines: letter.lines.iter().map(|line| filled(line)).collect(),
        link: link.map(|link| (letter.button, link.to_owned())),
        hint: letter.hint,
    };
    letter.send(call, to.email).await
}

/// Returns the texts in the language of a tenant, else in that of the platform.
fn texts_for(call: &Call, tenant: Option<&AddressingTenant>) -> Result<&'static Texts> {
    let settings = call.provided::<Settings>()?;
    let locales = tenant.and_then(|tenant| tenant.locales.as_ref());
    let locale = locales.and_then(|locales| locales.first());
    Ok(Texts::of(locale.unwrap_or(&settings.i18n.default)))
}

impl Texts {
    /// Returns the first line of a mail to a person.
    fn greeting_of(&self, name: Option<&str>) -> String {
        match name {
            Some(name) => self.greeting_name.replace("{name}", &one_line(name)),
            None => self.greeting.to_owned(),
        }
    }
}
