//! Mail: messages, and the transports that deliver them. Modules write messages; the configuration selects the transport.

mod config;
mod failure;
mod file;
mod message;
mod smtp;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::config::{Config, ConfigError};
use crate::ids::Ids;
use crate::time::Timestamp;

pub use config::{MailConfig, Transport};
pub use file::FileMailer;
pub use smtp::SmtpMailer;

/// A message to one recipient, as text and as HTML.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// Address of the recipient.
    pub to: String,
    /// One line.
    pub subject: String,
    /// The message for mail clients that show no HTML.
    pub text: String,
    /// The message as a complete HTML document.
    pub html: String,
    /// BCP 47 code of the message's language.
    pub language: String,
    /// Time of writing.
    pub written_at: Timestamp,
}

impl std::fmt::Debug for Mail {
    /// Leaves out the recipient and the text, whose links must not be logged.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail")
            .field("subject", &self.subject)
            .field("language", &self.language)
            .finish_non_exhaustive()
    }
}

/// The reason why a message was not sent. The text names no recipient.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct MailError(pub String);

/// Delivers messages.
pub trait Mailer: Send + Sync + 'static {
    /// Delivers one message for which a client waits; returns when the next mail server has accepted it.
    ///
    /// # Errors
    /// When the next mail server rejects the message, can't be reached, or does not accept it in a time for which a client can wait.
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>>;

    /// Delivers one message of a [job](crate::jobs), for which no client waits: it may take longer. If an attempt sends the same contents again, the
    /// message should have the same id, so that the recipient's server can discard the copy.
    ///
    /// # Errors
    /// When the next mail server rejects the message, can't be reached, or does not accept it in time.
    fn send_in_job<'a>(&'a self, mail: &'a Mail, _job: Uuid) -> BoxFuture<'a, Result<(), MailError>> {
        self.send(mail)
    }
}

/// Creates the mailer of section `mail`; `None` when mail is not configured.
///
/// # Errors
/// Names the invalid key.
pub(crate) fn of_config(config: &Config, ids: &Ids) -> Result<Option<Arc<dyn Mailer>>, ConfigError> {
    let settings: MailConfig = config.section("mail")?;
    let from = settings.sender()?;
    Ok(match settings.transport(config.is_development()) {
        Transport::None => None,
        Transport::File => Some(Arc::new(FileMailer::new(settings.folder(config)?, from, ids.clone()))),
        Transport::Smtp => Some(Arc::new(SmtpMailer::new(&settings, from)?)),
    })
}
