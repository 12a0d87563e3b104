#![doc = include_str!("../README.md")]

mod address;
mod client;
mod config;
mod policy;
mod resolver;
mod retry_after;
mod tls;

pub use address::is_public;
pub use client::{Body, Client, ClientOptions, Error, read_limited};
pub use config::EgressConfig;
pub use policy::{Egress, Rejected};
pub use resolver::{Resolver, SystemResolver};
pub use retry_after::retry_after;
