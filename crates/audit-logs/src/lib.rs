#![doc = include_str!("../README.md")]

pub mod acl;
mod csv;
mod documented;
mod filter;
mod foreign;
mod http;
mod parameters;
mod query;
mod visibility;

use backoffice_core::Module;

/// The module.
pub static MODULE: Module = Module {
    name: "audit-logs",
    title: "Audit logs",
    requires: &["auth"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    routes: http::routes,
    ..Module::EMPTY
};
