//! Webhooks: what rules queue, and how it is sent.

pub(crate) mod deliveries;
mod outcome;
mod secrets;
mod send_webhooks;
mod sender;

pub(crate) use deliveries::{NewDelivery, queue};
pub(crate) use send_webhooks::SendWebhooks;
pub(crate) use sender::Sender;
