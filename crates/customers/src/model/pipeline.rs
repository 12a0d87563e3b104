//! Pipelines.
