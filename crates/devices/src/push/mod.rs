//! Push messages: the providers, and the deliveries of notifications to devices.

mod apns;
mod attempt;
mod channel;
mod config;
mod deliveries;
mod erase;
mod fcm;
mod local;
mod message;
mod outcome;
mod owners;
mod provider;
mod providers;
mod recipients;
mod rejections;
mod remote;
mod send_pushes;
mod test_message;
mod webhook;
mod webpush;

pub(crate) use channel::CHANNEL;
pub use config::{ApnsConfig, FcmConfig, PushConfig, PushDefaults, WebPushConfig};
pub(crate) use erase::{
    DELIVERIES_EVERY, DELIVERIES_SCHEDULE, EraseDeliveries, EraseOwners, OWNERS_EVERY, OWNERS_SCHEDULE,
};
pub(crate) use owners::own;
pub(crate) use providers::Providers;
pub(crate) use send_pushes::SendPushes;
pub(crate) use test_message::test;
pub(crate) use webpush::{ID as WEBPUSH, Subscription};
