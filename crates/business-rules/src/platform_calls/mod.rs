//! The action `CALL_PLATFORM`: what it may name, its requests, and the job that sends those of rules that validate a command.

mod call_platform;
mod options;
mod request;
mod run;

pub(crate) use call_platform::{CallPlatform, QueuedCall, enqueue};
pub(crate) use options::{CallableEndpoints, CallableKey, METHODS, keys};
pub(crate) use request::common_organization;
pub(crate) use run::{CallEnd, call};
