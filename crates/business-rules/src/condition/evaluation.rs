//! The limits and the progress of the evaluation of a condition.

use std::slice::Iter;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::pattern::{Pattern, Patterns, STEPS_OF_INVALID};
use super::slices::Slice;
use super::{Condition, Facts, compare};

/// Most steps of an evaluation: visited conditions, compared values, and texts that are compared with patterns, by their length.
const MOST_STEPS: u32 = 100_000;
/// Longest text that is compared with a pattern, in characters.
const LONGEST_MATCHED: usize = 10_000;
/// Most steps of a search that is performed in place: about ten milliseconds at most.
const SHORT_SEARCH: u32 = 1000;

/// What an evaluation may use.
#[derive(Clone, Copy)]
pub(crate) struct EvaluationLimits<'a> {
    /// The compiled patterns of this node.
    pub(crate) patterns: &'a Patterns,
    /// Its longest time, without waits between its slices: no comparison begins after it.
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

/// A search that may take long.
pub(super) struct PatternSearch {
    pattern: Arc<Pattern>,
    text: String,
}

impl PatternSearch {
    /// Returns whether the pattern matches the text.
    pub(super) fn is_match(&self) -> bool {
        self.pattern.is_match(&self.text)
    }
}

/// The result of a comparison.
pub(super) enum Compared {
    Known(bool),
    /// It is that of a search.
    Search(PatternSearch),
}

/// The progress of an evaluation.
pub(super) enum EvaluationProgress {
    /// It has this result.
    Held(bool),
    /// The slice is over.
    Paused,
    /// It needs the result of a search.
    Search(PatternSearch),
}

/// A group of which some conditions are evaluated.
struct OpenGroup<'c> {
    rest: Iter<'c, Condition>,
    /// The value of a condition with which the value of the group is known.
    decisive: bool,
    /// The value of the group then; it is the other one if no condition has the decisive value.
    decided: bool,
}

/// An evaluation, which can go on where it has stopped.
pub(super) struct Evaluation<'c> {
    next: &'c Condition,
    /// The groups around the next condition, the outermost first.
    groups: Vec<OpenGroup<'c>>,
    steps: Steps<'c>,
}

impl<'c> Evaluation<'c> {
    pub(super) fn new(condition: &'c Condition, limits: EvaluationLimits<'c>) -> Self {
        Self {
            next: condition,
            groups: Vec::new(),
            steps: Steps::new(limits),
        }
    }

    /// Goes on to the result, to a long search, or to the end of the slice, if there is one.
    pub(super) fn advance(
        &mut self,
        facts: &Facts<'_>,
        slice: Option<&Slice>,
    ) -> Result<EvaluationProgress, Unevaluated> {
        loop {
            self.steps.take(1)?;
            let next = self.next;
            let known = match next {
                Condition::Always => Some(true),
                Condition::All(conditions) => self.enter(conditions, false, false),
                Condition::NotAll(conditions) => self.enter(conditions, false, true),
                Condition::Any(conditions) => self.enter(conditions, true, true),
                Condition::Compare(comparison) => match comparison.holds(facts, &mut self.steps)? {
                    Compared::Known(held) => Some(held),
                    Compared::Search(search) => return Ok(EvaluationProgress::Search(search)),
                },
            };
            if let Some(held) = known.and_then(|held| self.note(held)) {
                return Ok(EvaluationProgress::Held(held));
            }
            if slice.is_some_and(Slice::is_over) {
                return Ok(EvaluationProgress::Paused);
            }
        }
    }

    /// Begins a group. Returns its value if it has no conditions.
    fn enter(&mut self, conditions: &'c [Condition], decisive: bool, decided: bool) -> Option<bool> {
        let mut rest = conditions.iter();
        let Some(first) = rest.next() else {
            return Some(!decided);
        };
        self.next = first;
        self.groups.push(OpenGroup {
            rest,
            decisive,
            decided,
        });
        None
    }

    /// Notes the value of the present condition. Returns the result if it is known with it.
    pub(super) fn note(&mut self, held: bool) -> Option<bool> {
        let mut held = held;
        while let Some(group) = self.groups.last_mut() {
            let is_decided = held == group.decisive;
            if !is_decided && let Some(next) = group.rest.next() {
                self.next = next;
                return None;
            }
            held = is_decided == group.decided;
            self.groups.pop();
        }
        Some(held)
    }

    /// Stops counting time until [`Evaluation::go_on`].
    pub(super) fn stop(&mut self) {
        self.steps.spent += self.steps.started.elapsed();
    }

    /// Counts time again, and the time that a search has taken meanwhile.
    pub(super) fn go_on(&mut self, searched: Duration) {
        self.steps.spent += searched;
        self.steps.started = Instant::now();
    }
}

/// The steps that an evaluation may still take, with its other limits.
pub(super) struct Steps<'a> {
    left: u32,
    /// The time of earlier slices.
    spent: Duration,
    /// The start of the present slice.
    started: Instant,
    limits: EvaluationLimits<'a>,
}

impl<'a> Steps<'a> {
    fn new(limits: EvaluationLimits<'a>) -> Self {
        Self {
            left: MOST_STEPS,
            spent: Duration::ZERO,
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
        match self.spent + self.started.elapsed() >= self.limits.longest {
            true => Err(Unevaluated::Timeout),
            false => Ok(()),
        }
    }

    /// Compares the text of a value with a pattern: false if it has none or a longer one than 10,000 characters. Returns `None` if the pattern is not
    /// valid.
    pub(super) fn matches(&mut self, value: &Value, pattern: &str) -> Result<Option<Compared>, Unevaluated> {
        self.take(1)?;
        let text = compare::text(value).filter(|text| text.chars().nth(LONGEST_MATCHED).is_none());
        let Some(text) = text else {
            return Ok(Some(Compared::Known(false)));
        };
        let Ok(pattern) = self.limits.patterns.get(pattern) else {
            self.take(STEPS_OF_INVALID)?;
            return Ok(None);
        };
        let number = pattern.steps(&text);
        self.take(number)?;
        Ok(Some(match number > SHORT_SEARCH {
            true => Compared::Search(PatternSearch {
                pattern,
                text: text.into_owned(),
            }),
            false => Compared::Known(pattern.is_match(&text)),
        }))
    }
}
