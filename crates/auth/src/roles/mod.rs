//! Roles and rights: access control lists, and the rules on who may grant what.

pub(crate) mod commands;
pub(crate) mod grants;
pub(crate) mod holders;
pub(crate) mod http;
pub(crate) mod model;
pub mod query;
pub(crate) mod rights;
pub(crate) mod seed;
pub(crate) mod super_admins;
pub(crate) mod sync;
