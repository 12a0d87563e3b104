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
mod holders;
mod http;
mod integrity;
mod interceptors;
mod jobs;
mod letters;
mod locale;
mod login;
mod navigation;
mod one_time_token;
mod pages;
mod password;
mod revocation;
mod schema;
mod seed;
mod session;
mod sidebar;
mod super_admins;
mod tenant_users;
mod token;
mod user_counter;
mod values;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::registry::{Registry, Startup};
use backoffice_directory::UserCounterHandle;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use accounts::Accounts;
pub use administration::{
    AccountSummary, NewAccount, create_account, generate_password, list_accounts, send_link, set_active, set_password,
    sync_roles,
};
pub use cache::{CacheEpoch, IdentityCache};
pub use config::{AuthConfig, JwtKey, MIN_SECRET_BYTES};
pub use error::Error;
pub use grants::{Acl, AclInput};
pub use holders::{RoleToHold, check_assignment, find_roles, may_change_role, protect_holder, rights_of_roles};
pub use one_time_token::{NewToken, Purpose};
pub use revocation::{Subject, revoke};
pub use seed::{SUPER_ADMIN_ROLE, TENANT_ROLES};
pub use sidebar::SidebarSettings;
pub use tenant_users::{TenantUser, find_tenant_users};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

/// Accounts: sign-in, sessions, users, roles and rights.
pub static MODULE: Module = Module {
    name: "auth",
    title: "Authentication & Accounts",
    requires: &["directory"],
    features: acl::FEATURES,
    default_grants: acl::DEFAULT_GRANTS,
    navigation: navigation::NAVIGATION,
    nav_titles: navigation::NAV_TITLES,
    config_sections: &["auth"],
    rate_limits: http::RATE_LIMITS,
    migrations: Some(MIGRATIONS),
    routes: http::routes,
    pages: pages::pages,
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
        .entity::<model::SidebarPreference>()
        .entity::<model::RoleSidebarPreference>()
        .entity::<model::SidebarVariant>()
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
        .command::<commands::InviteUser>()
        .command::<commands::RequestReset>()
        .command::<commands::ResetPassword>()
        .job::<jobs::RequestResets>()
        .job::<jobs::SendReset>()
        .job::<jobs::NotifyOfPassword>()
        .job::<jobs::NotifyOldAddress>()
        .command::<commands::UpdateSidebarPreference>()
        .command::<commands::UpdateRoleSidebarPreference>()
        .command::<commands::DeleteRoleSidebarPreference>()
        .command::<commands::CreateSidebarVariant>()
        .command::<commands::UpdateSidebarVariant>()
        .command::<commands::DeleteSidebarVariant>()
        .command::<commands::UpdateConsent>()
        .interceptor(interceptors::KEEP_ORGANIZATIONS_WITH_USERS)
        .interceptor(interceptors::SIGN_OUT_OF_ORGANIZATIONS)
        .interceptor(interceptors::SIGN_OUT_OF_TENANTS)
        .interceptor(interceptors::KEEP_A_SUPER_ADMIN_IN_ORGANIZATIONS)
        .interceptor(interceptors::KEEP_A_SUPER_ADMIN_IN_TENANTS);
}

fn start(startup: &mut Startup<'_>) -> Result<(), ConfigError> {
    let accounts = Accounts::new(startup.config())?;
    startup.authenticator(Arc::new(accounts::Sessions(Arc::clone(&accounts))));
    startup.provide(accounts);
    startup.provide(Arc::new(UserCounterHandle(Arc::new(user_counter::LiveUsers))));
    Ok(())
}
