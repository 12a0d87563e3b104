//! Companies.
