//! Mail: what a message is, and the ways in which it leaves. Modules write messages; the configuration says how they travel.

mod config;
mod file;
mod message;
mod smtp;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::config::{Config, ConfigError};
use crate::ids::Ids;
use crate::time::Timestamp;

pub use config::{MailConfig, Transport};
pub use file::FileMailer;
pub use smtp::SmtpMailer;

/// A message to one person, as text and as HTML.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// Address of the recipient.
    pub to: String,
    /// One line.
    pub subject: String,
    /// The message for programs that show no HTML.
    pub text: String,
    /// The message as a whole HTML document.
    pub html: String,
    /// BCP 47 code of the language that it is written in.
    pub language: String,
    /// When it was written.
    pub written_at: Timestamp,
}

impl std::fmt::Debug for Mail {
    /// Neither the recipient nor the links in the text belong into a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail")
            .field("subject", &self.subject)
            .field("language", &self.language)
            .finish_non_exhaustive()
    }
}

/// Why a message did not leave. The text names no recipient.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct MailError(pub String);

/// Hands messages on.
pub trait Mailer: Send + Sync + 'static {
    /// Hands one message on; returns when the next station has taken it.
    ///
    /// # Errors
    /// When it refused or could not be reached.
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>>;
}

/// The mailer that section `mail` describes; `None` when mail is not configured.
///
/// # Errors
/// Names the key that can't be used.
pub(crate) fn of_config(config: &Config, ids: &Ids) -> Result<Option<Arc<dyn Mailer>>, ConfigError> {
    let settings: MailConfig = config.section("mail")?;
    let from = settings.sender()?;
    Ok(match settings.transport(config.is_development()) {
        Transport::None => None,
        Transport::File => Some(Arc::new(FileMailer::new(settings.folder(config)?, from, ids.clone()))),
        Transport::Smtp => Some(Arc::new(SmtpMailer::new(&settings, from)?)),
    })
}
