use backoffice_core::text::one_line;
use backoffice_core::{Call, Error, Result, Scope};
use backoffice_directory::config::Settings;
use uuid::Uuid;

use super::{Letter, Texts};
use crate::{foreign, users};

/// The contents of a mail to a user.
#[derive(Debug, Clone)]
pub struct UserMail {
    /// The subject, one line.
    pub subject: String,
    /// Paragraphs.
    pub lines: Vec<String>,
    /// The text of a button, and the address to which it leads.
    pub link: Option<(&'static str, String)>,
    /// The last paragraph, in small letters.
    pub hint: &'static str,
}

/// Sends a mail to a live user of a tenant, in the language of the tenant, whose code `contents` receives. Returns false if there is no such user.
/// Waits for the mail server; holds no connection of the database meanwhile.
///
/// # Errors
/// If mail is not configured or can't be sent, or the database can't be reached.
pub async fn mail_user(call: &Call, tenant: Uuid, user: Uuid, contents: impl FnOnce(&str) -> UserMail) -> Result<bool> {
    let Some(mailer) = call.platform().mailer() else {
        return Err(Error::internal("mail is not configured"));
    };
    let scope = Scope::tenant(tenant);
    let (account, addressing) = {
        let connection = call.database().read_briefly(&scope).await?;
        let account = users::query::own(&connection, &scope, user).await?;
        (account, foreign::addressing_tenant(&connection, tenant).await?)
    };
    let Some(account) = account.filter(|account| account.is_active) else {
        return Ok(false);
    };
    let settings = call.provided::<Settings>()?;
    let locales = addressing.and_then(|tenant| tenant.locales).unwrap_or_default();
    let texts = Texts::of(locales.first().unwrap_or(&settings.i18n.default));
    let UserMail {
        subject,
        lines,
        link,
        hint,
    } = contents(texts.code);
    let letter = Letter {
        language: texts.code,
        subject: one_line(&subject),
        greeting: match &account.name {
            Some(name) => texts.greeting_name.replace("{name}", &one_line(name)),
            None => texts.greeting.to_owned(),
        },
        lines,
        link,
        hint,
    };
    let mail = letter.to_mail(&account.email, call.now)?;
    let sent = mailer.send(&mail).await;
    sent.map_err(|error| Error::internal(format!("could not send mail: {error}")))?;
    Ok(true)
}
