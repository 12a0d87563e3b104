//! The entries of companies and people.

use crate::endpoints::Entry;

pub(super) fn table() -> Vec<Entry> {
    Vec::new()
}
