//! Reads of companies.
