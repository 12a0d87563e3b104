//! What bounds the evaluation of a condition.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::compare;
use super::pattern::{Patterns, STEPS_OF_INVALID};

/// Most steps of an evaluation: visited conditions, compared values, and texts that are compared with patterns, by their length.
const MOST_STEPS: u32 = 100_000;
/// Longest text that is compared with a pattern, in characters.
const LONGEST_MATCHED: usize = 10_000;

/// What an evaluation may use.
#[derive(Clone, Copy)]
pub(crate) struct EvaluationLimits<'a> {
    /// The compiled patterns of this node.
    pub(crate) patterns: &'a Patterns,
    /// Its longest time: no comparison begins after it.
    pub(crate) longest: Duration,
}

/// Why an evaluation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unevaluated {
    /// It has taken too many steps.
    TooManySteps,
    /// Its time is over.
    Timeout,
    /// A pattern of the condition is not valid any more.
    InvalidPattern,
}

/// The steps that an evaluation may still take, with its other limits.
pub(super) struct Steps<'a> {
    left: u32,
    started: Instant,
    limits: EvaluationLimits<'a>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(limits: EvaluationLimits<'a>) -> Self {
        Self {
            left: MOST_STEPS,
            started: Instant::now(),
            limits,
        }
    }

    pub(super) fn take(&mut self, number: u32) -> Result<(), Unevaluated> {
        self.left = self.left.checked_sub(number).ok_or(Unevaluated::TooManySteps)?;
        Ok(())
    }

    /// Ends an evaluation whose time is over.
    pub(super) fn check_time(&self) -> Result<(), Unevaluated> {
        match self.started.elapsed() >= self.limits.longest {
            true => Err(Unevaluated::Timeout),
            false => Ok(()),
        }
    }

    /// Returns whether the text of a value matches a pattern, false if it has none or a longer one than 10,000 characters; `None` if the pattern is not
    /// valid.
    pub(super) fn matches(&mut self, value: &Value, pattern: &str) -> Result<Option<bool>, Unevaluated> {
        self.take(1)?;
        let text = compare::text(value).filter(|text| text.chars().nth(LONGEST_MATCHED).is_none());
        let Some(text) = text else {
            return Ok(Some(false));
        };
        let Ok(pattern) = self.limits.patterns.get(pattern) else {
            self.take(STEPS_OF_INVALID)?;
            return Ok(None);
        };
        self.take(pattern.steps(&text))?;
        Ok(Some(pattern.is_match(&text)))
    }
}
