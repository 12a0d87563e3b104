//! The module over HTTP and a real database.
