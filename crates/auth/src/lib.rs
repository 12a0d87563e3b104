#![doc = include_str!("../README.md")]

pub mod acl;

mod accounts;
mod config;
mod consents;
mod email;
mod error;
mod foreign;
mod http;
mod interceptors;
mod login_address;
mod mails;
mod navigation;
mod pages;
mod roles;
mod schema;
mod sessions;
mod sidebar;
mod stored;
mod users;
mod values;

use std::sync::Arc;

use backoffice_core::Module;
use backoffice_core::config::ConfigError;
use backoffice_core::poll::RevocationPoll;
use backoffice_core::registry::{Registry, Startup};
use backoffice_directory::UserCounterHandle;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

pub use accounts::Accounts;
pub use config::AuthConfig;
pub use email::{is_valid as is_valid_address, normalized as normalized_address};
pub use error::Error;
pub use http::fields::AccountEmail;
pub use login_address::login_address;
pub use mails::letters::{Letter, UserMail, is_configured as is_mail_configured, is_foreign_origin, mail_user};
pub use pages::{PageContent, PageFile, PageFiles, Site, Visit, notice_html};
pub use roles::grants::{Acl, AclInput};
pub use roles::holders::{RoleToHold, check_assignment, find_roles, may_change_role, protect_holder, rights_of_roles};
pub use roles::seed::{SUPER_ADMIN_ROLE, TENANT_ROLES};
pub use roles::sync::sync_roles;
pub use sessions::cache::{CacheEpoch, IdentityCache};
pub use sessions::locale::of as locale_of;
pub use sessions::one_time_token::{NewToken, Purpose};
pub use sessions::revocation::{Subject, revoke_all};
pub use sidebar::SidebarSettings;
pub use sidebar::query::lock_user;
pub use users::administration::{
    AccountSummary, NewAccount, check_account, create_account, find_account, generate_password, list_accounts,
    send_link, set_active, set_password,
};
pub use users::commands::{FirstConsent, FirstUser};
pub use users::feature_holders::{Holders, find_holders, find_next_holders};
pub use users::managed::{InvitedUser, change_activity, exchange_roles, is_administrator, protect_user};
pub use users::sign_up::has_account;
pub use users::tenant_users::{TenantUser, find_tenant_users};

/// The entities of all subjects.
pub mod model {
    pub use crate::consents::model::*;
    pub use crate::roles::model::*;
    pub use crate::sidebar::model::*;
    pub use crate::users::model::*;
}

/// The commands of all subjects.
pub mod commands {
    pub use crate::consents::commands::*;
    pub use crate::roles::commands::*;
    pub use crate::sidebar::commands::*;
    pub use crate::users::commands::*;
}

/// Invitations, for modules that invite users by commands of their own.
pub mod invitation {
    pub use crate::sessions::one_time_token::NewToken;
    pub use crate::users::invitation::{issue, mail, mint};
}

/// Reads. Every statement starts from a scope.
pub mod query {
    pub use crate::consents::query as consents;
    pub use crate::roles::query as roles;
    pub use crate::sidebar::query as sidebar;
    pub use crate::users::query as users;
}

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
    seed: roles::seed::tenant,
    background: sessions::revocation::watch,
    ..Module::EMPTY
};

fn register(registry: &mut Registry) {
    registry
        .extend(pages::FRAME)
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
        .command::<roles::commands::GrantDefaults>()
        .command::<roles::commands::SeedRole>()
        .command::<commands::CreateUser>()
        .command::<commands::UpdateUser>()
        .command::<commands::DeleteUser>()
        .command::<commands::UpdateProfile>()
        .command::<commands::InviteUser>()
        .command::<commands::RequestReset>()
        .command::<commands::ResetPassword>()
        .job::<mails::jobs::RequestResets>()
        .job::<mails::jobs::SendReset>()
        .job::<mails::jobs::NotifyOfPassword>()
        .job::<mails::jobs::NotifyOldAddress>()
        .job::<sessions::erase::EraseEnded>()
        .schedule::<sessions::erase::EraseEnded>(sessions::erase::SCHEDULE, sessions::erase::EVERY)
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
    startup.authenticator(Arc::new(sessions::authenticator::Sessions(Arc::clone(&accounts))));
    startup.provide(accounts);
    startup.provide(Arc::new(RevocationPoll::default()));
    startup.provide(Arc::new(UserCounterHandle(Arc::new(users::user_counter::LiveUsers))));
    Ok(())
}
