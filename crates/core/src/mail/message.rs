//! Builds a message in its wire format.

use std::time::{Duration, SystemTime};

use lettre::address::Envelope;
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message};

use super::{Mail, MailError};
use crate::text::one_line;

pub(super) fn message(mail: &Mail, from: &Mailbox) -> Result<Message, MailError> {
    let to =
        recipient(&mail.to).ok_or_else(|| MailError("the recipient's address can't be used in a mail".to_owned()))?;
    let unwritten = |error| MailError(format!("the message can't be written: {error}"));
    // From the headers the envelope would be parsed again, by rules that reject some addresses.
    let envelope = Envelope::new(Some(from.email.clone()), vec![to.clone()]).map_err(unwritten)?;
    let millis = u64::try_from(mail.written_at.unix_millis()).unwrap_or(0);
    Message::builder()
        .envelope(envelope)
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(one_line(&mail.subject))
        .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
        .message_id(None)
        .multipart(MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone()))
        .map_err(unwritten)
}

/// Returns the recipient with an address of the form of HTML's `input type=email`, or one that the mail library accepts. The local part of the former may
/// have dots where RFC 5321 permits them in a quoted string only, and may be longer than 64 characters; the mail server then decides.
fn recipient(address: &str) -> Option<Address> {
    if let Ok(recipient) = address.parse() {
        return Some(recipient);
    }
    let (local, domain) = address.rsplit_once('@')?;
    // Nothing that ends an address, a header or a quoted string.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_`{|}~-".contains(&byte);
    if local.is_empty() || !local.bytes().all(is_plain) {
        return None;
    }
    let domain = Address::new("local", domain).ok()?;
    let is_quoted = local.split('.').any(str::is_empty);
    let local = if is_quoted {
        format!("\"{local}\"")
    } else {
        local.to_owned()
    };
    Some(Address::new_dangerous(local, domain.domain()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn an_address_that_a_form_accepts_is_a_recipient() {
        let long = format!("{}@example.com", "x".repeat(65));
        for (address, expected) in [
            ("ann@example.com", Some("ann@example.com")),
            ("o'hara+x@b", Some("o'hara+x@b")),
            ("a..b@example.com", Some("\"a..b\"@example.com")),
            (".a@example.com", Some("\".a\"@example.com")),
            ("a.@example.com", Some("\"a.\"@example.com")),
            (&long, Some(long.as_str())),
            ("a..b\r\nBcc: c@example.com", None),
            ("a..b> x@example.com", None),
            ("a..\"b@example.com", None),
            ("a..b@example.com>", None),
            ("a..b@", None),
            ("@example.com", None),
        ] {
            let recipient = recipient(address);
            assert_eq!(recipient.as_ref().map(AsRef::<str>::as_ref), expected, "{address}");
        }
    }

    #[test]
    fn a_quoted_recipient_is_in_the_header_and_in_the_envelope() {
        let mail = Mail {
            to: "a..b@example.com".to_owned(),
            subject: "Hello".to_owned(),
            text: "Hello".to_owned(),
            html: "<p>Hello</p>".to_owned(),
            language: "en".to_owned(),
            written_at: Timestamp::UNIX_EPOCH,
        };
        let from: Mailbox = "Office <office@office.example>".parse().expect("a mailbox");

        let message = message(&mail, &from).expect("a message");

        let written = String::from_utf8(message.formatted()).expect("a text");
        assert!(written.contains("\r\nTo: \"a..b\"@example.com\r\n"), "{written}");
        let to: Vec<&str> = message.envelope().to().iter().map(AsRef::<str>::as_ref).collect();
        assert_eq!(to, ["\"a..b\"@example.com"]);
        let sender = message.envelope().from().map(AsRef::<str>::as_ref);
        assert_eq!(sender, Some("office@office.example"));
    }
}
