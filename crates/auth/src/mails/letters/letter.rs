use askama::Template;
use backoffice_core::mail::Mail;
use backoffice_core::{Call, Error, Result};

/// The contents of a mail in the form that all mails to persons have.
#[derive(Debug, Clone)]
pub struct Letter {
    /// BCP 47 code of the language.
    pub language: &'static str,
    /// One line.
    pub subject: String,
    /// The first line.
    pub greeting: String,
    /// Paragraphs.
    pub lines: Vec<String>,
    /// The text of a button, and the address to which it leads.
    pub link: Option<(&'static str, String)>,
    /// The last paragraph, in small letters.
    pub hint: String,
}

#[derive(Template)]
#[template(path = "mail/letter.html")]
struct Html<'a> {
    letter: &'a Letter,
}

#[derive(Template)]
#[template(path = "mail/letter.txt")]
struct Text<'a> {
    letter: &'a Letter,
}

impl Letter {
    /// Mails it to an address. Waits for the mail server.
    ///
    /// # Errors
    /// If mail is not configured, a template can't be rendered, or the mail can't be sent.
    pub async fn send(&self, call: &Call, to: &str) -> Result<()> {
        let Some(mailer) = call.platform().mailer() else {
            return Err(Error::internal("mail is not configured"));
        };
        let rendered = |error: askama::Error| Error::internal(format!("could not render mail: {error}"));
        let mail = Mail {
            to: to.to_owned(),
            subject: self.subject.clone(),
            text: Text { letter: self }.render().map_err(rendered)?,
            html: Html { letter: self }.render().map_err(rendered)?,
            language: self.language.to_owned(),
            written_at: call.now,
        };
        let sent = match call.job() {
            Some(job) => mailer.send_in_job(&mail, job).await,
            None => mailer.send(&mail).await,
        };
        sent.map_err(|error| Error::internal(format!("could not send mail: {error}")))
    }
}
