//! The directory over HTTP.

mod lookups;
mod organizations;
mod sign_in;
mod switcher;
mod tenants;
mod undo;
