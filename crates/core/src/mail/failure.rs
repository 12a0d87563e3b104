//! The reason of a failed delivery, for operators.

use std::error::Error;

use lettre::transport::smtp;
use lettre::transport::smtp::response::Code;

/// Returns why a delivery failed. Leaves out the server's responses, which may repeat the recipient's address.
pub(super) fn cause(error: &smtp::Error) -> String {
    if let Some(status) = error.status() {
        return rejection(status);
    }
    if error.is_timeout() {
        return "the mail server did not respond in time".to_owned();
    }
    if let Some(error) = tls_error(error) {
        return format!("no secure connection to the mail server: {error}");
    }
    match error.source() {
        // A text of the mail library.
        Some(lacking) if error.is_client() => {
            format!("the mail server does not offer what `mail.smtp_url` or the message needs: {lacking}")
        }
        _ if error.is_tls() => "no secure connection to the mail server".to_owned(),
        _ => "the mail server could not be reached, or the connection broke".to_owned(),
    }
}

fn rejection(status: Code) -> String {
    match u16::from(status) {
        530 => format!("the mail server requires credentials or TLS; set both in `mail.smtp_url` ({status})"),
        534 | 535 => format!("the mail server rejected the credentials of `mail.smtp_url` ({status})"),
        _ => format!("the mail server rejected the message with {status}"),
    }
}

/// Returns the reason why TLS failed, for example an invalid certificate. The mail library reports it as a connection error that contains an I/O
/// error that contains it.
fn tls_error(error: &smtp::Error) -> Option<&rustls::Error> {
    std::iter::successors(error.source(), |&error| error.source())
        .find_map(|error| error.downcast_ref::<std::io::Error>()?.get_ref()?.downcast_ref())
}
