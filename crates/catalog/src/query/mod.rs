//! Reads. Every statement about rows that a caller may see begins with its scope here.

pub mod categories;
pub mod prices;
pub mod products;
pub mod taken;
pub mod variants;
