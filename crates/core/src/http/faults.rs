//! Deserializes bodies and queries, and finds every value in them that has the wrong type.
//!
//! A deserializer stops at its first error. The faulty value is removed from the input, or replaced if it is required, and the rest is
//! deserialized again, until this succeeds. Each attempt costs time in proportion to the length of the input, so the length bounds the number
//! of attempts: in a very long input not every fault is found.

mod form;
mod json;
mod wording;

use crate::error::{Detail, MOST_DETAILS};

pub(super) use form::from_form;
pub(super) use json::from_json;
pub(super) use wording::plain as plain_wording;

/// Maximum number of bytes that are deserialized in search of faults, in all attempts together.
const MOST_BYTES: usize = 8 * 1024 * 1024;
const MOST_ATTEMPTS: usize = 400;

/// The number of remaining attempts to deserialize an input.
struct Attempts(usize);

impl Attempts {
    fn new(length: usize) -> Self {
        Self((MOST_BYTES / length.max(1)).clamp(2, MOST_ATTEMPTS))
    }

    /// Whether another attempt is left; counts it.
    fn next(&mut self) -> bool {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// The faults found so far.
#[derive(Default)]
struct Found(Vec<Detail>);

impl Found {
    /// Records a fault, unless it follows from a known one: at the same path or at a parent.
    fn note(&mut self, detail: Detail) {
        if !self.covers(&detail.path) {
            self.0.push(detail);
        }
    }

    fn is_full(&self) -> bool {
        self.0.len() >= MOST_DETAILS
    }

    fn covers(&self, path: &str) -> bool {
        self.0.iter().any(|known| is_part(path, &known.path))
    }
}

/// Whether a path is `whole` or inside of it.
fn is_part(path: &str, whole: &str) -> bool {
    path.strip_prefix(whole)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
