//! The program as its callers see it.

mod configuration;
mod inspection;
mod support;
