//! The accounts module over HTTP, on a database of its own for each test.

mod acl;
mod caller;
mod organizations;
mod roles;
mod scope;
mod sessions;
mod several;
mod tenants;
mod users;
mod world;
