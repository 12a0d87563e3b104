//! What can be changed.

pub mod companies;
pub mod deals;
pub mod parties;
pub mod people;
pub mod pipelines;
pub mod stages;
