//! The mails of this module, written in the language of the recipient's tenant.

mod letter;
mod life;
mod texts;
mod user_mail;

use std::time::Duration;

use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::text::one_line;
use backoffice_core::{Call, Result, Scope};
use backoffice_directory::config::Settings;
use diesel_async::AsyncPgConnection;
use url::Url;
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::foreign;
use crate::sessions::one_time_token::{self, NewToken, Purpose};
use crate::users;
use texts::Texts;

pub use letter::Letter;
pub use user_mail::{UserMail, mail_user};

/// Writes a duration in a language, in the form that it has after "for".
pub(crate) fn in_words(language: &str, duration: Duration) -> String {
    Texts::of(language).units.duration(duration)
}

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
/// sent; it is not if the user or the tenant has been deleted, or the user is inactive.
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
    let config = &accounts.config;
    let (template, life) = match purpose {
        Purpose::Reset => (&config.reset.link, config.reset_ttl()),
        Purpose::Invite => (&config.invite.link, config.invite_ttl()),
    };
    let public_url = call.platform().app().public_url.as_deref().unwrap_or_default();
    let address = template
        .replace("{public_url}", public_url.trim_end_matches('/'))
        .replace("{token}", token.clear());
    let link = Link { address, life };
    let pick = match purpose {
        Purpose::Reset => |texts: &'static Texts| &texts.reset,
        Purpose::Invite => |texts: &'static Texts| &texts.invitation,
    };
    if !send(call, to, pick, Some(link)).await? {
        return Ok(false);
    }
    if purpose == Purpose::Invite
        && let Err(error) = one_time_token::mark_sent(call, to.tenant, token).await
    {
        // The mail was sent; only the lists of invitations do not show it.
        tracing::warn!(%error, "could not record that an invitation was sent");
    }
    Ok(true)
}

/// Notifies the old address that it was replaced, unless the tenant was deleted.
pub(crate) async fn send_notice(call: &Call, to: Recipient<'_>) -> Result<()> {
    send(call, to, |texts| &texts.address_changed, None).await?;
    Ok(())
}

/// Notifies a user that another user set their password, unless the tenant was deleted.
pub(crate) async fn send_password_notice(call: &Call, to: Recipient<'_>) -> Result<()> {
    send(call, to, |texts| &texts.password_set, None).await?;
    Ok(())
}

/// The link of a one-time token.
struct Link {
    address: String,
    /// How long the token is valid.
    life: Duration,
}

/// Sends a mail. Returns false if the tenant was deleted.
async fn send(
    call: &Call,
    to: Recipient<'_>,
    pick: fn(&'static Texts) -> &'static texts::Letter,
    link: Option<Link>,
) -> Result<bool> {
    let sender = {
        let connection = call.database().read_briefly(&Scope::tenant(to.tenant)).await?;
        Sender::of(call, &connection, to.tenant).await?
    };
    let Some(Sender { name, texts }) = sender else {
        return Ok(false);
    };
    let letter = pick(texts);
    let filled = |line: &str| line.replace("{tenant}", &name);
    let letter = Letter {
        language: texts.code,
        subject: filled(letter.subject),
        greeting: texts.greeting_of(to.name),
        lines: letter.lines.iter().map(|line| filled(line)).collect(),
        hint: match &link {
            Some(link) => letter.hint.replace("{life}", &texts.units.duration(link.life)),
            None => letter.hint.to_owned(),
        },
        link: link.map(|link| (letter.button, link.address)),
    };
    letter.send(call, to.email).await?;
    Ok(true)
}

/// The sender of the mails to the users of a tenant: the tenant, or the platform for its own users.
struct Sender {
    /// The name, one line.
    name: String,
    /// The texts in its first language, else in that of the platform.
    texts: &'static Texts,
}

impl Sender {
    /// Returns the sender; `None` if the tenant was deleted, whose users count as missing.
    async fn of(call: &Call, connection: &AsyncPgConnection, tenant: Uuid) -> Result<Option<Self>> {
        let live = foreign::addressing_tenant(connection, tenant).await?;
        if live.is_none() && tenant != PLATFORM_TENANT {
            return Ok(None);
        }
        let settings = call.provided::<Settings>()?;
        let locales = live.as_ref().and_then(|tenant| tenant.locales.as_ref());
        let locale = locales.and_then(|locales| locales.first());
        Ok(Some(Self {
            name: one_line(live.as_ref().map_or("Backoffice", |tenant| &tenant.name)),
            texts: Texts::of(locale.unwrap_or(&settings.i18n.default)),
        }))
    }
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
