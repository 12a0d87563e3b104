//! Section `mail` of the configuration.

use std::path::PathBuf;

use lettre::message::Mailbox;
use secrecy::SecretString;
use serde::Deserialize;

use crate::config::{Config, ConfigError};

/// The way in which mail is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Every message is written to a file; none leaves the machine.
    File,
    /// A mail server.
    Smtp,
    /// Mail is not configured.
    None,
}

/// Section `mail`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailConfig {
    /// `file`, `smtp` or `none`. Default `none`, in development `file`.
    pub transport: Option<Transport>,
    /// Folder of transport `file`, one `.eml` per message. Default `mail` below `data_dir`.
    pub dir: Option<PathBuf>,
    /// Server of transport `smtp`: `smtps://user:password@host` (TLS from the start) or `smtp://…?tls=required` (STARTTLS). A path is the name for
    /// `EHLO`; default the domain of `from`.
    pub smtp_url: Option<SecretString>,
    /// A file with `smtp_url`.
    pub smtp_url_file: Option<PathBuf>,
    /// Sender: `Backoffice <office@example.com>`. Default, for transport `file` only: `Backoffice <backoffice@localhost>`.
    pub from: Option<String>,
}

impl MailConfig {
    /// Returns the transport in force.
    #[must_use]
    pub fn transport(&self, is_development: bool) -> Transport {
        self.transport.unwrap_or(if is_development {
            Transport::File
        } else {
            Transport::None
        })
    }

    /// Returns the sender.
    pub(super) fn sender(&self) -> Result<Mailbox, ConfigError> {
        match (&self.from, self.transport) {
            (Some(from), _) => from
                .parse()
                .map_err(|_| ConfigError::new("mail.from", "must be an address, or a name and an address in <>")),
            (None, Some(Transport::Smtp)) => Err(ConfigError::new("mail.from", "is needed with transport `smtp`")),
            (None, _) => "Backoffice <backoffice@localhost>"
                .parse()
                .map_err(|_| ConfigError::new("mail.from", "is needed")),
        }
    }

    /// Returns the URL of the mail server.
    pub(super) fn server(&self) -> Result<SecretString, ConfigError> {
        match (&self.smtp_url, &self.smtp_url_file) {
            (Some(url), None) => Ok(url.clone()),
            (None, Some(file)) => std::fs::read_to_string(file)
                .map(|text| text.trim().to_owned().into())
                .map_err(|error| ConfigError::new("mail.smtp_url_file", format!("{}: {error}", file.display()))),
            _ => Err(ConfigError::new(
                "mail.smtp_url",
                "set either `mail.smtp_url` or `mail.smtp_url_file` with transport `smtp`",
            )),
        }
    }

    /// Returns the folder of transport `file`.
    pub(super) fn folder(&self, config: &Config) -> Result<PathBuf, ConfigError> {
        match &self.dir {
            Some(dir) => Ok(dir.clone()),
            None => Ok(config.data_dir()?.join("mail")),
        }
    }
}
