//! Random commands, undo, redo and bulk jobs by four callers on five subjects: after each step, the open alerts are those of the plain rules.

mod facts;
mod steps;

use serde_json::Value;
use uuid::Uuid;

use crate::fixture::{Fixture, assignments, builder, instant, text};
use crate::{naive, seed};
use steps::History;

/// Steps of a history.
const STEPS: usize = 30;
/// Histories, unless the variable says otherwise.
const HISTORIES: usize = 4;
/// Histories in a database.
const PER_DATABASE: usize = 50;
/// Fridays before the clocks change in Europe; the first is the start of half of the histories.
const STARTS: [&str; 2] = ["2026-03-27T08:00:00Z", "2026-10-23T08:00:00Z"];

/// A source of numbers that follow from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    fn from_seed(seed: [u8; 32], history: usize) -> Self {
        let number = seed.iter().fold(history as u64, |number, byte| {
            number.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
        });
        Self(number)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).expect("a small number")
    }

    /// Returns one of these values.
    pub(crate) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// What both sides show of an alert: subject, kind, window, assignments, end.
type Shown = (Uuid, String, Option<Uuid>, Vec<Uuid>, String);

async fn expected(fixture: &Fixture) -> Vec<Shown> {
    let now = fixture.app.now();
    let mut all = Vec::new();
    for (subject, facts) in facts::read(fixture).await {
        for one in naive::conflicts(&facts, now) {
            let window = one.about.filter(|_| one.family == "subject_unavailable");
            all.push((
                subject,
                one.kind.to_owned(),
                window,
                one.assignments,
                one.expires_at.to_string(),
            ));
        }
    }
    all.sort();
    all
}

fn shown(alert: &Value) -> Shown {
    let id = |value: &Value| value.as_str().map(|id| id.parse().expect("a UUID"));
    (
        id(&alert["subject"]["id"]).expect("a subject"),
        text(&alert["kind"]),
        id(&alert["windowId"]),
        assignments(alert),
        text(&alert["expiresAt"]),
    )
}

async fn found(fixture: &Fixture, token: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = fixture.all_open(token).await.iter().map(shown).collect();
    all.sort();
    all
}

#[actix_web::test]
async fn open_alerts_are_those_of_the_plain_rules_after_every_command() {
    let seed = seed("BACKOFFICE_ALERTS_SEED");
    let histories = std::env::var("BACKOFFICE_ALERTS_HISTORIES");
    let histories = histories.map_or(HISTORIES, |number| number.parse().expect("a number of histories"));
    let first = std::env::var("BACKOFFICE_ALERTS_FIRST_HISTORY").map_or(0, |number| number.parse().expect("a number"));
    let (mut accepted, mut alerts) = (0, 0);
    // Histories with the same start share a database, one after the other.
    let numbers =
        (0..STARTS.len()).flat_map(|start| (first..first + histories).filter(move |n| n % STARTS.len() == start));
    let (mut shared, mut used): (Option<Fixture>, usize) = (None, 0);
    let mut last_start = "";
    for number in numbers {
        let start = STARTS[number % STARTS.len()];
        let fixture = match shared.take() {
            Some(mut fixture) if used < PER_DATABASE && start == last_start => {
                fixture.restart(instant(start)).await;
                fixture
            }
            _ => {
                used = 0;
                let fixture = Fixture::with(builder().starting_at(instant(start))).await;
                History::create_callers(&fixture).await;
                fixture
            }
        };
        (used, last_start) = (used + 1, start);
        let mut history = History::new(&fixture, Random::from_seed(seed, number)).await;
        for step in 0..STEPS {
            let done = history.step().await;

            let about = format!("history {number}, step {step}: {done:?}");
            let found = found(&fixture, history.token()).await;
            assert_eq!(found, expected(&fixture).await, "{about}");
            accepted += usize::from(done.2 < 300);
            alerts += found.len();
        }
        fixture.assert_no_difference().await;
        shared = Some(fixture);
    }
    // Most steps do something, and leave alerts.
    let steps = histories * STEPS;
    assert!(
        accepted * 3 > steps * 2 && alerts > steps,
        "{steps} steps, {accepted} accepted, {alerts} alerts"
    );
}
