//! API keys over HTTP, on a database of its own for each test.

mod keys;
mod world;
