use backoffice_core::text::one_line;
use backoffice_core::{Call, Result, Scope};
use uuid::Uuid;

use super::{Letter, Sender};
use crate::users;

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

/// Sends a mail to a live user of a live tenant, in the language of the tenant, whose code `contents` receives. Returns false if there is no such user.
/// Waits for the mail server; holds no connection of the database meanwhile.
///
/// # Errors
/// If mail is not configured or can't be sent, or the database can't be reached.
pub async fn mail_user(call: &Call, tenant: Uuid, user: Uuid, contents: impl FnOnce(&str) -> UserMail) -> Result<bool> {
    let scope = Scope::tenant(tenant);
    let (account, sender) = {
        let connection = call.database().read_briefly(&scope).await?;
        let account = users::query::own(&connection, &scope, user).await?;
        (account, Sender::of(call, &connection, tenant).await?)
    };
    let (Some(account), Some(Sender { texts, .. })) = (account.filter(|account| account.is_active), sender) else {
        return Ok(false);
    };
    let UserMail {
        subject,
        lines,
        link,
        hint,
    } = contents(texts.code);
    let letter = Letter {
        language: texts.code,
        subject: one_line(&subject),
        greeting: texts.greeting_of(account.name.as_deref()),
        lines,
        link,
        hint: hint.to_owned(),
    };
    letter.send(call, &account.email).await?;
    Ok(true)
}
