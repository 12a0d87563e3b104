#![doc = include_str!("../README.md")]

pub mod access_log;
pub mod acl;
pub mod command;
pub mod config;
pub mod context;
pub mod db;
pub mod decimal;
pub mod document;
pub mod erasure;
pub mod error;
pub mod events;
pub mod http;
pub mod identity;
pub mod ids;
pub mod jobs;
pub mod list;
pub mod mail;
pub mod module;
pub mod platform;
pub mod rate_limit;
pub mod registry;
pub mod retention;
pub mod scope;
pub mod shutdown;
pub mod slug;
pub mod text;
pub mod time;

pub use acl::{DefaultGrant, Feature};
pub use command::Tx;
pub use context::{Call, RequestContext, Visitor};
pub use decimal::Decimal;
pub use error::{Detail, Error, ErrorShape, Rejection, Result, Violations};
pub use module::{Module, NavContext, NavEntry, NavTitles, Translations};
pub use platform::{API_PREFIX, INTERFACE_VERSION, Platform, PlatformOptions, Runtime};
pub use scope::{Scope, VisibleTenants};
pub use time::Timestamp;
