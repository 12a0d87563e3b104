//! API keys over HTTP, on a database of its own for each test.

mod caller;
mod dependencies;
mod fixture;
mod keys;
mod secrets;
