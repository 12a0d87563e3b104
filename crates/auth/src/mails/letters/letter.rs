use askama::Template;
use backoffice_core::mail::Mail;
use backoffice_core::{Error, Result, Timestamp};

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
    pub hint: &'static str,
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
    /// Writes the mail to a recipient.
    ///
    /// # Errors
    /// If a template can't be rendered.
    pub fn to_mail(&self, to: &str, written_at: Timestamp) -> Result<Mail> {
        let rendered = |error: askama::Error| Error::internal(format!("could not render mail: {error}"));
        Ok(Mail {
            to: to.to_owned(),
            subject: self.subject.clone(),
            text: Text { letter: self }.render().map_err(rendered)?,
            html: Html { letter: self }.render().map_err(rendered)?,
            language: self.language.to_owned(),
            written_at,
        })
    }
}
