//! The accounts module over HTTP, on a database of its own for each test.

mod acl;
mod caller;
mod consents;
mod navigation;
mod organizations;
mod pages;
mod passwords;
mod redirects;
mod roles;
mod scope;
mod sessions;
mod several;
mod sidebar;
mod signing_in;
mod tenants;
mod tokens;
mod users;
mod world;
