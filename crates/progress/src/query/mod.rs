//! What is read.

pub mod jobs;
