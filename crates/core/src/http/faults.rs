//! Reads bodies and queries, and finds everything in them that has the wrong type.
//!
//! A deserializer stops at its first error. What it stopped at is taken out of the input, or replaced where it is needed, and the rest is
//! read again, until it can be read. Each attempt costs as much as the input is long, so their number is bounded by its length: of a very
//! long input not every fault is found.

mod form;
mod json;
mod wording;

use crate::error::{Detail, MOST_DETAILS};

pub(super) use form::from_form;
pub(super) use json::from_json;
pub(super) use wording::plain as plain_wording;

/// Bytes that may be read in search of faults, all attempts together.
const MOST_BYTES: usize = 8 * 1024 * 1024;
const MOST_ATTEMPTS: usize = 400;

/// An input that could not be read.
pub(super) struct Unread<T> {
    /// What is wrong with it.
    pub(super) details: Vec<Detail>,
    /// What is left without that, if it could be read. Places that are needed hold stand-ins.
    pub(super) rest: Option<T>,
}

impl<T> Unread<T> {
    fn one(detail: Detail) -> Self {
        Self {
            details: vec![detail],
            rest: None,
        }
    }
}

/// How often an input may still be read.
struct Attempts(usize);

impl Attempts {
    fn new(length: usize) -> Self {
        Self((MOST_BYTES / length.max(1)).clamp(2, MOST_ATTEMPTS))
    }

    /// Whether there is another one.
    fn next(&mut self) -> bool {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// What was found wrong so far.
#[derive(Default)]
struct Found(Vec<Detail>);

impl Found {
    /// Notes a fault, unless it follows from one that is known: that of the same place, or of what it is part of.
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

/// Whether a place is `whole` or lies in it.
pub(super) fn is_part(path: &str, whole: &str) -> bool {
    path.strip_prefix(whole)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
