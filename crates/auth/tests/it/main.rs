//! The accounts module over HTTP, on a database of its own for each test.

mod acl;
mod caller;
mod consents;
mod grants;
mod navigation;
mod organizations;
mod own_profile;
mod pages;
mod redirects;
mod roles;
mod scope;
mod sessions;
mod several;
mod sidebar;
mod tenants;
mod users;
mod world;
