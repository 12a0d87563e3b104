//! Background jobs: the mails, and the erasure of expired notifications.

mod erase_expired;
mod send_mails;

pub(crate) use erase_expired::{EVERY as ERASE_EVERY, EraseExpired, SCHEDULE as ERASE_SCHEDULE};
pub(crate) use send_mails::SendMails;
