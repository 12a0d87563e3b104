//! The accounts module over HTTP, on a database of its own for each test.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod acl;
mod caller;
mod consents;
mod cookies;
mod deleted_tenants;
mod events;
mod faults;
mod fixture;
mod global_roles;
mod grants;
mod hidden_roles;
mod history;
mod home;
mod invitations;
mod limits;
mod navigation;
mod notices;
mod order_of_checks;
mod organizations;
mod own_profile;
mod pages;
mod passwords;
mod races;
mod redirects;
mod reset;
mod retention;
mod roles;
mod scope;
mod seeded_roles;
mod sessions;
mod several;
mod sidebar;
mod signing_in;
mod smtp;
mod stale;
mod tenants;
mod tokens;
mod users;
mod wildcards;
