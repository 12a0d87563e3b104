//! The accounts module over HTTP, on a database of its own for each test.

mod acl;
mod caller;
mod consents;
mod grants;
mod invitations;
mod navigation;
mod organizations;
mod own_profile;
mod pages;
mod passwords;
mod redirects;
mod reset;
mod roles;
mod scope;
mod sessions;
mod several;
mod sidebar;
mod signing_in;
mod smtp;
mod tenants;
mod tokens;
mod users;
mod world;
