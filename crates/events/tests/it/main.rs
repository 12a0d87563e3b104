//! Delivery of events to subscribers and browsers.

mod crash;
mod crowd;
mod delivery;
mod outage;
mod retention;
mod sample;
mod stream;
