//! Push messages, with stand-ins of the providers.

mod apns;
mod channel;
mod deliveries;
mod fcm;
mod isolation;
mod options;
mod standins;
mod test_message;
mod webhook;
mod webpush;
