//! Users: their accounts, passwords, profiles and invitations.

pub(crate) mod administration;
pub(crate) mod commands;
pub(crate) mod feature_holders;
pub(crate) mod http;
pub(crate) mod invitation;
pub(crate) mod managed;
pub(crate) mod model;
pub(crate) mod password;
pub mod query;
pub(crate) mod sign_up;
pub(crate) mod tenant_users;
pub(crate) mod user_counter;
