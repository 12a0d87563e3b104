//! Background jobs of this module: mails that no request waits for.

mod limits;
mod notify_of_password;
mod notify_old_address;
mod request_resets;
mod send_reset;

pub(crate) use limits::{ADDRESS_NOTICES, PASSWORD_NOTICES};
pub(crate) use notify_of_password::NotifyOfPassword;
pub(crate) use notify_old_address::NotifyOldAddress;
pub(crate) use request_resets::RequestResets;
pub(crate) use send_reset::SendReset;
