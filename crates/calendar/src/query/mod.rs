//! Reads. Every statement begins with a scope.

pub(crate) mod calendars;
pub(crate) mod feeds;
pub(crate) mod reasons;
pub(crate) mod series;
pub(crate) mod windows;
