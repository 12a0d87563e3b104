//! Background jobs: the mails, and the erasure of expired notifications.

mod erase_expired;
mod mail_limits;
mod send_mails;

pub(crate) use erase_expired::{EVERY as ERASE_EVERY, EraseExpired, SCHEDULE as ERASE_SCHEDULE};
pub(crate) use mail_limits::MAIL_LIMITS;
pub(crate) use send_mails::SendMails;
