//! The accounts module over HTTP, on a database of its own for each test.

mod acl;
mod caller;
mod navigation;
mod organizations;
mod roles;
mod sessions;
mod several;
mod sidebar;
mod users;
mod world;
