#![doc = include_str!("../README.md")]

mod cluster;
mod error;
mod fetch;
mod find;
mod home;
mod init;
mod lock;
mod log;
mod owner;
mod postmaster;
mod server;
mod settings;
mod socket;

pub use cluster::LocalPostgres;
pub use error::Error;
pub use find::{Binaries, Environment, Version, find};
pub use settings::{Listener, Settings};
