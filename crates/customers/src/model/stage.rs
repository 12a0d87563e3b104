//! Stages of pipelines.
