//! The accounts module over HTTP, on a database of its own for each test.

mod acl;
mod caller;
mod consents;
mod organizations;
mod redirects;
mod roles;
mod sessions;
mod several;
mod users;
mod world;
