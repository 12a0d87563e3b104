//! Reads.

pub mod items;
pub mod jobs;
