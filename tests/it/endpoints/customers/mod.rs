//! The entries of the customers.

mod deals;
mod parties;

use super::Entry;

pub(crate) fn table() -> Vec<Entry> {
    let mut table = deals::table();
    table.extend(parties::table());
    table
}
