//! The rules of alerts against their plain form, over random histories of a subject.

use std::collections::{BTreeMap, BTreeSet};

use backoffice_alerts::engine::{
    self, Conflict, Identity, LiveAssignment, OffDays, OpenAlert, Outcome, ShownAssignment, SiteDays, SubjectFacts,
    UnavailableInterval,
};
use backoffice_core::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use time::{Date, Duration, Month, Weekday};
use uuid::Uuid;

use crate::naive::{self, NaiveAlert, NaiveConflict};
use crate::seed;

const HISTORIES: u32 = 2000;

fn id(group: u128, number: u8) -> Uuid {
    Uuid::from_u128(group << 64 | u128::from(number))
}

/// An instant of January 2026, in hours from its start.
fn at(hours: i64) -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z")
        .expect("an instant")
        .after(Duration::hours(hours))
}

fn day(hours: i64) -> Date {
    let start = Date::from_calendar_date(2026, Month::January, 1).expect("a day");
    start + Duration::days(hours.div_euclid(24))
}

fn assignment(number: u8, (site, start, length): (u8, i64, i64)) -> LiveAssignment {
    LiveAssignment {
        shown: ShownAssignment {
            start_at: at(start),
            id: id(1, number),
            end_at: at(start + length),
            job_site: id(2, site),
        },
        first_day: day(start),
        last_day: day(start + length - 1),
    }
}

/// Facts about a subject and the hours after which they hold.
fn state() -> impl Strategy<Value = (i64, SubjectFacts)> {
    let assignments = btree_map(0_u8..8, (0_u8..3, 0_i64..90, 1_i64..40), 0..8);
    let windows = btree_map(0_u8..3, (0_i64..90, 1_i64..40), 0..3);
    let sites = vec(
        (
            any::<bool>(),
            proptest::option::of(0_i64..4),
            proptest::option::of(2_i64..6),
        ),
        3,
    );
    let off_days = (vec(0_u8..7, 0..3), vec(0_i64..5, 0..3));
    (
        0_i64..25,
        prop::bool::weighted(0.2),
        assignments,
        windows,
        sites,
        off_days,
    )
        .prop_map(
            |(hours, is_inactive, assignments, windows, sites, (weekdays, holidays))| {
                let window = |(number, (start, length)): (u8, (i64, i64))| UnavailableInterval {
                    id: id(3, number),
                    start_at: at(start),
                    end_at: at(start + length),
                };
                let site = |(number, (is_closed, start, end)): (u8, (bool, Option<i64>, Option<i64>))| {
                    let days = SiteDays {
                        is_closed,
                        start: start.map(|days| day(days * 24)),
                        end_exclusive: end.map(|days| day(days * 24)),
                    };
                    (id(2, number), days)
                };
                let facts = SubjectFacts {
                    is_inactive,
                    assignments: assignments
                        .into_iter()
                        .map(|(number, fields)| assignment(number, fields))
                        .collect(),
                    windows: windows.into_iter().map(window).collect(),
                    sites: (0_u8..).zip(sites).map(site).collect(),
                    off_days: OffDays {
                        weekdays: weekdays
                            .into_iter()
                            .map(|number| Weekday::Monday.nth_next(number))
                            .collect(),
                        holidays: holidays.into_iter().map(|days| day(days * 24)).collect(),
                    },
                    part: None,
                };
                (hours, facts)
            },
        )
}

/// Mostly small changes of the facts before, so that groups grow, shrink, split and merge.
fn history() -> impl Strategy<Value = Vec<(i64, SubjectFacts)>> {
    let changes = vec(
        (0_i64..5, 0_u8..8, proptest::option::of((0_u8..3, 0_i64..90, 1_i64..40))),
        1..12,
    );
    (state(), changes, vec(state(), 0..2)).prop_map(|(first, changes, last)| {
        let mut states = vec![first];
        for (hours, number, change) in changes {
            let mut facts = states[states.len() - 1].1.clone();
            facts.assignments.retain(|one| one.shown.id != id(1, number));
            facts
                .assignments
                .extend(change.map(|fields| assignment(number, fields)));
            states.push((hours, facts));
        }
        states.extend(last);
        states
    })
}

/// The alerts of the module's rules, as they would be stored.
#[derive(Debug, Default)]
struct Stored(BTreeMap<Uuid, OpenAlert>);

impl Stored {
    fn apply(&mut self, facts: &SubjectFacts, now: Timestamp, new_id: impl Fn(&Conflict) -> Uuid) {
        self.0.retain(|_, alert| alert.expires_at > now);
        let conflicts = engine::conflicts(facts, now);
        let (written, resolved) = engine::changes(self.0.values().cloned().collect(), conflicts, now);
        for alert in resolved {
            self.0.remove(&alert).expect("a resolved alert was open");
        }
        for change in written {
            let alert = change.id.unwrap_or_else(|| new_id(&change.conflict));
            let before = self.0.get(&alert).map(|alert| alert.occurred_at);
            assert_eq!(before.is_none(), change.outcome == Outcome::Opened);
            let occurred_at = match change.outcome {
                Outcome::Opened | Outcome::Grown => now,
                Outcome::Changed | Outcome::Aged => before.expect("an open alert"),
            };
            let row = OpenAlert {
                id: alert,
                kind: change.conflict.kind,
                identity_key: change.conflict.identity.key(alert),
                occurred_at,
                expires_at: change.conflict.expires_at,
                assignments: change.conflict.assignments,
            };
            self.0.insert(alert, row);
        }
    }
}

fn shown(conflict: &Conflict) -> NaiveConflict {
    NaiveConflict {
        family: conflict.kind.family(),
        about: match conflict.identity {
            Identity::Group | Identity::Subject => None,
            Identity::Window(id) | Identity::JobSite(id) | Identity::Assignment(id) => Some(id),
        },
        kind: conflict.kind.as_str(),
        start_at: conflict.assignments[0].start_at,
        assignments: conflict.assignments.iter().map(|one| one.id).collect(),
        sites: conflict.assignments.iter().map(|one| one.job_site).collect(),
        expires_at: conflict.expires_at,
    }
}

/// A new id that follows from the instant and the conflict, in no particular order.
fn new_id(step: usize, family: &str, about: Option<Uuid>, first: Uuid) -> Uuid {
    let text = format!("{step} {family} {about:?} {first}");
    let number = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Uuid::from_u128(u128::from(number) << 64 | u128::try_from(step).expect("a small number"))
}

fn check(history: &[(i64, SubjectFacts)]) -> Result<(), TestCaseError> {
    let (mut stored, mut model): (Stored, Vec<NaiveAlert>) = Default::default();
    let mut hours = 0;
    let mut before: Vec<LiveAssignment> = Vec::new();
    for (step, (after, facts)) in history.iter().enumerate() {
        hours += after;
        let now = at(hours);
        let plain = naive::conflicts(facts, now);
        let mut found: Vec<NaiveConflict> = engine::conflicts(facts, now).iter().map(shown).collect();
        found.sort();
        prop_assert_eq!(&found, &plain);

        let live: BTreeSet<Uuid> = before
            .iter()
            .filter(|one| one.shown.end_at > now)
            .map(|one| one.shown.id)
            .collect();
        before.clone_from(&facts.assignments);
        model = naive::next(&model, &plain, &live, now, |one| {
            new_id(step, one.family, one.about, one.assignments[0])
        });
        stored.apply(facts, now, |one| {
            let one = shown(one);
            new_id(step, one.family, one.about, one.assignments[0])
        });
        model.sort_by_key(|alert| alert.id);
        let alerts: Vec<NaiveAlert> = stored
            .0
            .values()
            .map(|alert| NaiveAlert {
                id: alert.id,
                occurred_at: alert.occurred_at,
                conflict: shown(&Conflict {
                    kind: alert.kind,
                    identity: identity(alert),
                    // Readers do not see ended assignments.
                    assignments: alert
                        .assignments
                        .iter()
                        .filter(|one| one.end_at > now)
                        .copied()
                        .collect(),
                    expires_at: alert.expires_at,
                }),
            })
            .collect();
        prop_assert_eq!(alerts, model.clone());
    }
    Ok(())
}

fn identity(alert: &OpenAlert) -> Identity {
    let about = || alert.identity_key.parse().expect("a UUID");
    match alert.kind.family() {
        "overlap" => Identity::Group,
        "subject_inactive" => Identity::Subject,
        "subject_unavailable" => Identity::Window(about()),
        "job_site_closed" => Identity::JobSite(about()),
        _ => Identity::Assignment(about()),
    }
}

#[test]
fn alerts_follow_the_plain_rules_through_random_histories() {
    let seed = seed("BACKOFFICE_ALERTS_SEED");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let config = Config {
        cases: HISTORIES,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng);

    let outcome = runner.run(&history(), |history| check(&history));

    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn a_second_comparison_changes_nothing() {
    let seed = seed("BACKOFFICE_ALERTS_SEED");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let config = Config {
        cases: HISTORIES,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, rng);

    let outcome = runner.run(&state(), |(hours, facts)| {
        let mut stored = Stored::default();
        stored.apply(&facts, at(hours), |one| {
            let one = shown(one);
            new_id(0, one.family, one.about, one.assignments[0])
        });
        let open: Vec<OpenAlert> = stored.0.into_values().collect();
        let (written, resolved) = engine::changes(open, engine::conflicts(&facts, at(hours)), at(hours));
        prop_assert_eq!((written, resolved), (vec![], vec![]));
        Ok(())
    });

    if let Err(error) = outcome {
        panic!("{error}");
    }
}
