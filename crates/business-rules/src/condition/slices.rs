//! Evaluations that share their thread with other requests: in slices, and with long searches on threads of their own.

use std::time::Duration;

use backoffice_core::blocking::Pool;
use tokio::time::Instant;

use super::evaluation::{Evaluation, EvaluationLimits, EvaluationProgress, PatternSearch, Unevaluated};
use super::{Condition, Facts};

/// Time after which a run lets the other requests of its thread go on. A comparison that has begun is finished before.
const LONGEST: Duration = Duration::from_millis(10);
/// Most threads for long searches.
const MOST_THREADS: usize = 2;
/// Searches that wait for a thread: more than there are runs at once.
const QUEUE: usize = 1024;

/// The time for which a run keeps its thread from other requests.
#[derive(Debug)]
pub(crate) struct Slice {
    longest: Duration,
    began: Instant,
}

impl Slice {
    pub(crate) fn begin() -> Self {
        Self::of(LONGEST)
    }

    fn of(longest: Duration) -> Self {
        Self {
            longest,
            began: Instant::now(),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.began.elapsed() >= self.longest
    }

    /// Lets the other requests of the thread go on if the slice is over, and begins the next one.
    pub(crate) async fn yield_if_over(&mut self) {
        if self.is_over() {
            tokio::task::yield_now().await;
            self.began = Instant::now();
        }
    }
}

/// The threads of a process for long searches.
#[derive(Debug)]
pub(crate) struct SearchThreads(Pool<()>);

impl Default for SearchThreads {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = cores.saturating_sub(1).clamp(1, MOST_THREADS);
        Self(Pool::new("rules", threads, QUEUE, 1))
    }
}

impl SearchThreads {
    /// Performs a search. Returns its result, and its duration without the wait for a thread.
    async fn run(&self, search: PatternSearch) -> Result<(bool, Duration), Unevaluated> {
        let position = self.0.queue_position().ok_or(Unevaluated::Timeout)?;
        let work = move |(): &mut ()| {
            let started = Instant::now();
            (search.is_match(), started.elapsed())
        };
        let found = match self.0.acquire(position).await {
            Ok(permit) => self.0.run(&permit, work).await,
            Err(error) => Err(error),
        };
        found.map_err(|error| {
            tracing::error!(%error, "search of a rule failed");
            Unevaluated::Timeout
        })
    }
}

impl Condition {
    /// Evaluates the condition as [`Condition::evaluate`] does. Ends the slice of the run each time that it is over.
    ///
    /// # Errors
    /// As [`Condition::evaluate`].
    pub(crate) async fn evaluate_in_slices(
        &self,
        facts: &Facts<'_>,
        limits: EvaluationLimits<'_>,
        searches: &SearchThreads,
        slice: &mut Slice,
    ) -> Result<bool, Unevaluated> {
        let mut evaluation = Evaluation::new(self, limits);
        loop {
            match evaluation.advance(facts, Some(&*slice))? {
                EvaluationProgress::Held(held) => return Ok(held),
                EvaluationProgress::Paused => {
                    evaluation.stop();
                    slice.yield_if_over().await;
                    evaluation.go_on(Duration::ZERO);
                }
                EvaluationProgress::Search(search) => {
                    evaluation.stop();
                    let (found, searched) = searches.run(search).await?;
                    evaluation.go_on(searched);
                    if let Some(held) = evaluation.note(found) {
                        return Ok(held);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use serde_json::{Value, json};

    use super::super::{Patterns, compile};
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn limits(patterns: &Patterns) -> EvaluationLimits<'_> {
        EvaluationLimits {
            patterns,
            longest: HOUR,
        }
    }

    fn comparison(operator: &str, value: &str) -> Value {
        json!({"field": "a", "operator": operator, "value": value})
    }

    fn group(operator: &str, rules: &[Value]) -> Value {
        json!({"operator": operator, "rules": rules})
    }

    #[tokio::test]
    async fn slices_change_no_result() {
        let (yes, no) = (comparison("=", "x"), comparison("=", "y"));
        let (searches, patterns) = (SearchThreads::default(), Patterns::default());
        for (condition, expected) in [
            (Value::Null, true),
            (yes.clone(), true),
            (group("AND", &[yes.clone(), no.clone(), yes.clone()]), false),
            (group("OR", &[no.clone(), no.clone(), yes.clone()]), true),
            (group("NOT", &[yes.clone(), yes.clone()]), false),
            (
                group(
                    "AND",
                    &[
                        group("OR", &[no.clone(), yes.clone()]),
                        group("NOT", &[yes.clone(), group("OR", &[no.clone(), no.clone()])]),
                        yes.clone(),
                    ],
                ),
                true,
            ),
        ] {
            let compiled = compile(&condition).expect("a valid condition");
            let data = json!({"a": "x"});
            let facts = Facts::for_test(&data);
            // Each comparison ends a slice.
            let mut slice = Slice::of(Duration::ZERO);

            let held = compiled.evaluate_in_slices(&facts, limits(&patterns), &searches, &mut slice);
            assert_eq!(held.await, Ok(expected), "{condition}");
            assert_eq!(
                compiled.evaluate(&facts, limits(&patterns)),
                Ok(expected),
                "{condition}"
            );
        }
    }

    #[tokio::test]
    async fn an_evaluation_yields_at_the_end_of_a_slice() {
        let (searches, patterns) = (SearchThreads::default(), Patterns::default());
        let data = json!({"a": "z"});
        let facts = Facts::for_test(&data);
        let condition = group("OR", &[comparison("=", "x"), comparison("=", "y")]);
        let condition = compile(&condition).expect("a valid condition");
        let mut slice = Slice::of(Duration::ZERO);

        let evaluated = condition.evaluate_in_slices(&facts, limits(&patterns), &searches, &mut slice);
        let mut evaluated = Box::pin(evaluated);

        assert!(poll!(&mut evaluated).is_pending());
        assert_eq!(evaluated.await, Ok(false));
    }

    #[tokio::test]
    async fn a_long_search_is_left_to_another_thread() {
        let (searches, patterns) = (SearchThreads::default(), Patterns::default());
        let condition = compile(&comparison("MATCHES", r"^b\w{5}")).expect("a valid condition");
        for (first, length, is_long) in [("b", 100, false), ("b", 9999, true), ("a", 9999, true)] {
            let data = json!({"a": format!("{first}{}", "a".repeat(length))});
            let facts = Facts::for_test(&data);

            let progress = Evaluation::new(&condition, limits(&patterns)).advance(&facts, None);
            assert_eq!(
                matches!(progress, Ok(EvaluationProgress::Search(_))),
                is_long,
                "{length}"
            );
            let mut slice = Slice::begin();
            let held = condition.evaluate_in_slices(&facts, limits(&patterns), &searches, &mut slice);
            assert_eq!(held.await, Ok(first == "b"), "{length}");
        }
    }

    #[test]
    fn the_time_of_earlier_slices_and_searches_counts() {
        let patterns = Patterns::default();
        let data = json!({"a": "x"});
        let condition = compile(&comparison("=", "x")).expect("a valid condition");
        let mut evaluation = Evaluation::new(&condition, limits(&patterns));

        evaluation.stop();
        evaluation.go_on(HOUR);

        let progress = evaluation.advance(&Facts::for_test(&data), None);
        assert!(matches!(progress, Err(Unevaluated::Timeout)));
    }
}
