//! Reads. Every statement begins with a scope.

pub(crate) mod calendars;
pub(crate) mod reasons;
pub(crate) mod windows;
