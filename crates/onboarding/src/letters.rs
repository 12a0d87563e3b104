//! The mails, in the language in which the person signed up.

use backoffice_core::text::one_line;
use backoffice_core::{Call, Result};

use crate::model::Request;
use crate::texts::{MailTexts, Texts};

/// A mail, with the address to which it leads.
#[derive(Debug, Clone)]
pub(crate) enum Letter {
    /// The link that verifies the request.
    Verification(String),
    /// The address has an account; leads to the sign-in.
    Existing(String),
    /// The tenant exists; leads to the sign-in.
    Ready(String),
}

/// Sends a mail. Callers must check that mail is configured.
pub(crate) async fn send(call: &Call, request: &Request, to: &str, letter: Letter) -> Result<()> {
    let texts = Texts::of(&request.locale);
    let (written, link): (&MailTexts, String) = match letter {
        Letter::Verification(link) => (&texts.verification_mail, link),
        Letter::Existing(link) => (&texts.existing_mail, link),
        Letter::Ready(link) => (&texts.ready_mail, link),
    };
    let organization = one_line(&request.organization_name);
    let filled = |line: &str| line.replace("{organization}", &organization);
    let letter = backoffice_auth::Letter {
        language: texts.code,
        subject: filled(written.subject),
        greeting: texts.greeting.replace("{name}", &one_line(&request.first_name)),
        lines: written.lines.iter().map(|line| filled(line)).collect(),
        link: Some((written.button, link)),
        hint: written.hint.to_owned(),
    };
    letter.send(call, to).await
}
