#![doc = include_str!("../README.md")]

pub mod acl;
pub mod commands;
pub mod model;
pub mod query;

mod accounts;
mod administration;
mod cache;
mod config;
mod email;
mod error;
mod foreign;
mod grants;
mod http;
mod integrity;
mod interceptors;
mod locale;
mod login;
mod password;
mod revocation;
mod schema;
mod seed;
mod session;
mod token;
mod user_counter;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::{Registry, Startup};
use backoffice_directory::UserCounterHandle;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use accounts::Accounts;
pub use administration::{
    AccountLine, NewAccount, create_account, generate_password, list_accounts, set_active, set_password, sync_roles,
};
pub use config::{AuthConfig, JwtKey, MIN_SECRET_BYTES};
pub use error::Error;
pub use grants::{Acl, AclInput};
pub use seed::{SUPER_ADMIN_ROLE, TENANT_ROLES};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// Accounts: sign-in, sessions, users, roles and rights.
pub static MODULE: Module = Module {
    name: "auth",
    title: "Authentication & Accounts",
    requires: &["directory"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    config_sections: &["auth"],
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    register,
    start,
    seed: seed::tenant,
    background: revocation::watch,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .entity::<model::Role>()
        .entity::<model::RoleAcl>()
        .entity::<model::User>()
        .entity::<model::UserAcl>()
        .entity::<model::Consent>()
        .command::<commands::CreateRole>()
        .command::<commands::UpdateRole>()
        .command::<commands::DeleteRole>()
        .command::<commands::UpdateRoleAcl>()
        .command::<commands::UpdateUserAcl>()
        .command::<commands::GrantDefaults>()
        .command::<commands::CreateUser>()
        .command::<commands::UpdateUser>()
        .command::<commands::DeleteUser>()
        .command::<commands::UpdateProfile>()
        .command::<commands::UpdateConsent>()
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_USERS)
        .interceptor(interceptors::SIGN_OUT_OF_ORGANIZATIONS);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let accounts = Accounts::new(startup.config())?;
    startup.authenticator(Arc::new(accounts::Sessions(Arc::clone(&accounts))));
    startup.provide(accounts);
    startup.provide(Arc::new(UserCounterHandle(Arc::new(user_counter::LiveUsers))));
    Ok(())
}
