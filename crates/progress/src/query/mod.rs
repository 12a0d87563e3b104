//! What is read.

pub mod items;
pub mod jobs;
