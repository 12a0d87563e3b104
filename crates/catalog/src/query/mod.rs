//! Reads. Every statement about rows that a caller may see begins with its scope here.

pub mod categories;
pub mod prices;
pub mod products;
pub mod variants;

/// The order of a list; the id decides between equal values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sort {
    /// The field by which the list is sorted.
    pub field: &'static str,
    /// Whether the largest value is first.
    pub descending: bool,
}

/// Orders a boxed statement by a column, then by the id.
macro_rules! ordered {
    ($query:expr, $descending:expr, $column:expr, $id:expr) => {
        if $descending {
            $query.order(($column.desc(), $id.desc()))
        } else {
            $query.order(($column.asc(), $id.asc()))
        }
    };
}
use ordered;
