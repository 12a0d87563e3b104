#![doc = include_str!("../README.md")]

pub mod acl;
mod http;

use backoffice_core::{ErrorShape, Module};

/// The module.
pub static MODULE: Module = Module {
    name: "access",
    title: "Access",
    requires: &["auth"],
    features: acl::FEATURES,
    roles: acl::ROLES,
    default_grants: acl::DEFAULT_GRANTS,
    errors: ErrorShape::Code,
    routes: http::routes,
    ..Module::EMPTY
};
