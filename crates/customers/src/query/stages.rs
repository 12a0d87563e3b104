//! Reads of stages.
