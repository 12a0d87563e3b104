//! Reads. Every statement begins with a scope.

pub mod assignments;
pub mod job_sites;
pub mod resources;
