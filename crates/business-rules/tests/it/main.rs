//! The module over HTTP.

mod events;
mod execution;
mod fixture;
mod guards;
mod logs;
mod nodes;
mod options;
mod receiver;
mod rules;
mod sets;
mod time_limits;
mod webhooks;
