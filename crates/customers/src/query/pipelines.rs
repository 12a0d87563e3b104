//! Reads of pipelines.
