//! The commands of this module.

pub mod companies;
pub mod deals;
pub mod parties;
pub mod people;
pub mod pipelines;
pub mod stages;
