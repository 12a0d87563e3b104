//! Builds a message in its wire format.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lettre::address::Envelope;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::{Address, Message};
use url::Host;
use uuid::Uuid;

use super::{Mail, MailError};
use crate::fingerprint::Fingerprint;
use crate::text::{hex, one_line};

/// Bytes of text in one encoded word, so that the line of the header has at most 76 characters.
const ENCODED_BYTES: usize = 39;

/// Builds the message of a mail. `job` is the job that sends it, if any.
pub(super) fn message(mail: &Mail, from: &Mailbox, job: Option<Uuid>) -> Result<Message, MailError> {
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
        .raw_header(subject(&one_line(&mail.subject)))
        .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
        .message_id(Some(format!("<{}@{}>", id(mail, job), domain(from))))
        .multipart(MultiPart::alternative_plain_html(lines(&mail.text), lines(&mail.html)))
        .map_err(unwritten)
}

/// Returns a text whose lines end with a line feed, without other control characters but tabs. Some servers take a lone carriage return for the end of
/// a line, and the contents of a mail could then end it and begin another one.
fn lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), " ")
}

/// Returns the ASCII form of the sender's domain.
pub(super) fn domain(from: &Mailbox) -> String {
    match Host::parse(from.email.domain()) {
        Ok(Host::Domain(ascii)) => ascii,
        // An address literal.
        _ => from.email.domain().to_owned(),
    }
}

/// Returns the left part of the message's id. Attempts of a job that send the same contents have the same id: a server may discard the second
/// message. Attempts that send other contents, such as a new link, have different ids, because the recipient needs the last message.
fn id(mail: &Mail, job: Option<Uuid>) -> String {
    let mut fingerprint = Fingerprint::default();
    fingerprint.id(job);
    if job.is_none() {
        fingerprint.bytes(&mail.written_at.unix_millis().to_be_bytes());
    }
    for text in [&mail.to, &mail.subject, &mail.text, &mail.html] {
        fingerprint.bytes(text.as_bytes());
    }
    hex(&fingerprint.finish()[..16])
}

/// Returns the header `Subject`. The mail library writes words in ASCII as they are, and mail clients would decode a word that has the form of an
/// encoded one: it could have characters that names must not have. A text with such a form is therefore encoded as a whole.
fn subject(text: &str) -> HeaderValue {
    let name = HeaderName::new_from_ascii_str("Subject");
    if !text.contains("=?") {
        return HeaderValue::new(name, text.to_owned());
    }
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.floor_char_boundary(ENCODED_BYTES));
        words.push(format!("=?utf-8?b?{}?=", STANDARD.encode(word)));
        rest = after;
    }
    HeaderValue::dangerous_new_pre_encoded(name, text.to_owned(), words.join("\r\n "))
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

    fn mail(to: &str, subject: &str) -> Mail {
        Mail {
            to: to.to_owned(),
            subject: subject.to_owned(),
            text: "Hello".to_owned(),
            html: "<p>Hello</p>".to_owned(),
            language: "en".to_owned(),
            written_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn office() -> Mailbox {
        "Office <office@office.example>".parse().expect("a mailbox")
    }

    /// Returns the lines of a header in the wire format, without its name.
    fn header(message: &Message, name: &str) -> Vec<String> {
        let written = String::from_utf8(message.formatted()).expect("a text");
        let (head, _) = written.split_once("\r\n\r\n").expect("a head");
        let mut lines = head
            .split("\r\n")
            .skip_while(|line| !line.starts_with(&format!("{name}: ")));
        let first = lines.next().map(|line| line[name.len() + 2..].to_owned());
        let folded = lines.take_while(|line| line.starts_with(' ')).map(str::to_owned);
        first.into_iter().chain(folded).collect()
    }

    /// Returns a subject as mail clients show it, if each of its lines is one encoded word.
    fn decoded(lines: &[String]) -> Option<String> {
        let mut bytes = Vec::new();
        for line in lines {
            let word = line.trim_start().strip_prefix("=?utf-8?b?")?.strip_suffix("?=")?;
            bytes.extend(STANDARD.decode(word).ok()?);
        }
        String::from_utf8(bytes).ok()
    }

    #[test]
    fn a_quoted_recipient_is_in_the_header_and_in_the_envelope() {
        let message = message(&mail("a..b@example.com", "Hello"), &office(), None).expect("a message");

        assert_eq!(header(&message, "To"), ["\"a..b\"@example.com"]);
        let to: Vec<&str> = message.envelope().to().iter().map(AsRef::<str>::as_ref).collect();
        assert_eq!(to, ["\"a..b\"@example.com"]);
        let sender = message.envelope().from().map(AsRef::<str>::as_ref);
        assert_eq!(sender, Some("office@office.example"));
    }

    #[test]
    fn a_subject_with_the_form_of_an_encoded_word_is_shown_as_it_is() {
        let long = format!("{} =?utf-8?q?a=0Ab?=", "\u{17c}\u{f3}\u{142}w ".repeat(20));
        for subject in [
            "Your account at =?utf-8?B?4oCuZXZpbA==?=",
            "=?utf-8?q?=E2=80=AEevil?=",
            "a=?b",
            "\u{17b}\u{f3}\u{142}w =?utf-8?B?4oCuZXZpbA==?=",
            &long,
        ] {
            let message = message(&mail("ann@example.com", subject), &office(), None).expect("a message");

            let lines = header(&message, "Subject");
            assert_eq!(decoded(&lines).as_deref(), Some(subject), "{lines:?}");
            assert!(lines.iter().all(|line| line.len() <= 67), "{lines:?}");
        }
        let message = message(&mail("ann@example.com", "Is 1+1=2? Yes"), &office(), None).expect("a message");
        assert_eq!(header(&message, "Subject"), ["Is 1+1=2? Yes"]);
    }

    #[test]
    fn contents_have_no_lone_carriage_returns_and_no_control_characters() {
        let text = "one\rtwo\r.\rMAIL FROM:<evil@example.com>\r\n\u{7}three\n";
        let mail = Mail {
            text: text.to_owned(),
            html: format!("<p>{text}</p>"),
            ..mail("ann@example.com", "Hello")
        };

        let written = message(&mail, &office(), None).expect("a message").formatted();

        let written = String::from_utf8(written).expect("a text");
        let rest = written.replace("\r\n", "");
        assert!(!rest.contains(char::is_control), "{written:?}");
        assert!(
            written.contains("one\r\ntwo\r\n.\r\nMAIL FROM:<evil@example.com>\r\n three\r\n"),
            "{written}"
        );
    }

    #[test]
    fn attempts_of_a_job_have_one_message_id_for_the_same_contents() {
        let id = |mail: &Mail, from: &str, job| {
            let message = message(mail, &from.parse().expect("a mailbox"), job).expect("a message");
            header(&message, "Message-ID").concat()
        };
        let (from, job) = ("office@office.example", Some(Uuid::from_u128(7)));
        let first = mail("ann@example.com", "Hello");
        let later = Mail {
            written_at: Timestamp::UNIX_EPOCH.after(time::Duration::seconds(2)),
            ..first.clone()
        };
        let with_another_link = Mail {
            text: "Hello again".to_owned(),
            ..first.clone()
        };

        let of_job = id(&first, from, job);

        assert!(
            of_job.starts_with('<') && of_job.ends_with("@office.example>"),
            "{of_job}"
        );
        assert_eq!(id(&later, from, job), of_job);
        assert_ne!(id(&with_another_link, from, job), of_job);
        assert_ne!(id(&mail("bea@example.com", "Hello"), from, job), of_job);
        assert_ne!(id(&first, from, Some(Uuid::from_u128(8))), of_job);
        assert_ne!(id(&first, from, None), id(&later, from, None));
        assert!(id(&first, "office@b\u{fc}ro.example", job).ends_with("@xn--bro-hoa.example>"));
    }

    #[test]
    fn the_domain_of_an_address_literal_is_kept() {
        let address = Address::new("office", "[127.0.0.1]").expect("an address");

        assert_eq!(domain(&Mailbox::new(None, address)), "[127.0.0.1]");
    }
}
