//! Sends messages to a mail server.

use std::time::Duration;

use futures_util::future::BoxFuture;
use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, AsyncTransport, Tokio1Executor};
use secrecy::{ExposeSecret, SecretString};

use super::config::MailConfig;
use super::message::message;
use super::{Mail, MailError, Mailer};
use crate::config::ConfigError;

/// Longest duration of a delivery, from the connection to the server's last response.
const PATIENCE: Duration = Duration::from_secs(8);

/// Sends messages to an SMTP server, each over its own connection.
#[derive(Debug)]
pub struct SmtpMailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
}

impl SmtpMailer {
    pub(super) fn new(settings: &MailConfig, from: Mailbox) -> Result<Self, ConfigError> {
        let url: SecretString = settings.server()?;
        let transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret())
            .map_err(|_| {
                ConfigError::new(
                    "mail.smtp_url",
                    "is not a valid URL of the form smtps://user:password@host or smtp://user:password@host?tls=required",
                )
            })?
            .timeout(Some(PATIENCE))
            .build();
        Ok(Self { transport, from })
    }
}

impl Mailer for SmtpMailer {
    fn send<'a>(&'a self, mail: &'a Mail) -> BoxFuture<'a, Result<(), MailError>> {
        Box::pin(async move {
            let message = message(mail, &self.from)?;
            let sent = tokio::time::timeout(PATIENCE, self.transport.send(message)).await;
            match sent {
                Ok(Ok(_accepted)) => Ok(()),
                // The server's response may repeat the address, so only the kind of failure is reported.
                Ok(Err(error)) => Err(MailError(kind(&error))),
                Err(_late) => Err(MailError("the mail server did not respond in time".to_owned())),
            }
        })
    }
}

fn kind(error: &lettre::transport::smtp::Error) -> String {
    match error.status() {
        Some(status) => format!("the mail server rejected the message with {status}"),
        None if error.is_timeout() => "the mail server did not respond in time".to_owned(),
        None if error.is_tls() => "no secure connection to the mail server".to_owned(),
        None => "the mail server could not be reached, or the connection broke".to_owned(),
    }
}
