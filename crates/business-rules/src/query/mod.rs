//! Reads. Every statement begins with a scope.

pub mod logs;
pub mod rules;
pub mod sets;
pub mod webhooks;
