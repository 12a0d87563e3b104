//! Events on their way to subscribers and browsers.

mod crash;
mod delivery;
mod outage;
mod retention;
mod sample;
mod stream;
