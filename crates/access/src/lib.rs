#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod query;

mod error;
mod foreign;
mod http;
mod interceptors;
mod navigation;
mod values;

use backoffice_core::registry::Registry;
use backoffice_core::{ErrorShape, Module};

pub use error::Error;
pub use values::{TeamRole, UserStatus};

/// The module.
pub static MODULE: Module = Module {
    name: "access",
    title: "Access",
    requires: &["auth"],
    rate_limits: http::RATE_LIMITS,
    features: acl::FEATURES,
    roles: acl::ROLES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    errors: ErrorShape::Code,
    routes: http::routes,
    register,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .command::<commands::InviteUser>()
        .command::<commands::ResendInvitation>()
        .command::<commands::ChangeRole>()
        .command::<commands::DeactivateUser>()
        .command::<commands::ReactivateUser>()
        .interceptor(interceptors::KEEP_OWN_ROLE);
}
