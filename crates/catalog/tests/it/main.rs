//! The catalog over HTTP, on a database of its own for each test.

mod bulk;
mod categories;
mod fixture;
mod inputs;
mod lists;
mod prices;
mod products;
mod rights;
mod undo;
mod variants;
