//! The directory over HTTP.

mod lookups;
mod organizations;
mod sign_in;
mod tenants;
mod undo;
