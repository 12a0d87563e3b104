//! Sessions: how they start and end, their tokens and cookies, one-time tokens, their erasure, and the locale of a request.

pub(crate) mod authenticator;
pub(crate) mod cache;
pub(crate) mod erase;
pub(crate) mod http;
pub(crate) mod locale;
pub(crate) mod login;
pub(crate) mod one_time_token;
pub(crate) mod query;
pub(crate) mod revocation;
pub(crate) mod session;
pub(crate) mod token;
