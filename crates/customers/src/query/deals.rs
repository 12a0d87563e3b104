//! Reads of deals.
