//! Deals.
