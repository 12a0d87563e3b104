#![doc = include_str!("../README.md")]

pub mod admin;
mod admin_host;
pub mod app;
mod background;
pub mod child;
pub mod cli;
pub mod config;
mod connections;
pub mod database;
mod doctor;
mod error;
mod first_password;
mod first_start;
mod host;
mod logging;
pub mod modules;
mod private_database;
pub mod secrets;
mod serve;
mod session;
mod signals;

pub use app::{Backoffice, Composition, api, pages};
pub use connections::limit_connections;
pub use error::{Error, Result};
