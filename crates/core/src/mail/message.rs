//! Builds a message in its wire format.

use std::time::{Duration, SystemTime};

use lettre::Message;
use lettre::message::{Mailbox, MultiPart};

use super::{Mail, MailError};
use crate::text::one_line;

pub(super) fn message(mail: &Mail, from: &Mailbox) -> Result<Message, MailError> {
    let to = mail
        .to
        .parse()
        .map_err(|_| MailError("the recipient's address can't be used in a mail".to_owned()))?;
    let millis = u64::try_from(mail.written_at.unix_millis()).unwrap_or(0);
    Message::builder()
        .from(from.clone())
        .to(Mailbox::new(None, to))
        .subject(one_line(&mail.subject))
        .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
        .message_id(None)
        .multipart(MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone()))
        .map_err(|error| MailError(format!("the message can't be written: {error}")))
}
