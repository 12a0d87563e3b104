//! The derivation of instants, compared with an independent implementation: PostgreSQL with the database of its system.

use backoffice_calendar::{Day, Zone};
use backoffice_core::Timestamp;
use backoffice_test_support::TestApp;
use time::Duration;

/// Zones of which both databases contain different rules for these years, as their versions differ: none at present.
const DIFFERENT: &[&str] = &[];

/// The days from 1970-01-01 to 2037-12-31.
const DAYS: i64 = 24_837;

/// Returns the midnights of a zone in PostgreSQL: number of the day and seconds since 1970, for each day that is not 24 hours after the day before.
const MIDNIGHTS: &str = "with days as ( \
        select n, extract(epoch from (date '1970-01-01' + n)::timestamp at time zone '{zone}')::bigint as at \
        from generate_series(0, {days}) n), \
    steps as (select n, at, at - lag(at) over (order by n) as step from days) \
    select n, at from steps where step is distinct from 86400 order by n";

#[actix_web::test]
async fn every_midnight_of_every_zone_is_that_of_postgresql() {
    let app = TestApp::new(&[]).await;
    let known = app.rows("select name from pg_timezone_names").await;
    let known: Vec<&str> = known.iter().filter_map(|row| row["name"].as_str()).collect();
    let (mut compared, mut unknown, mut different) = (0, Vec::new(), Vec::new());

    for name in Zone::names() {
        if !known.contains(&name.as_str()) {
            unknown.push(name);
            continue;
        }
        let sql = MIDNIGHTS
            .replace("{zone}", &name)
            .replace("{days}", &(DAYS - 1).to_string());
        let steps = app.rows(&sql).await;
        let steps: Vec<(i64, i64)> = steps
            .iter()
            .map(|row| (row["n"].as_i64().expect("a day"), row["at"].as_i64().expect("seconds")))
            .collect();
        match first_difference(&Zone::parse(&name).expect("a listed zone"), &steps) {
            None => compared += 1,
            Some(day) => different.push(format!("{name} on day {day}")),
        }
    }

    different.retain(|one| !DIFFERENT.iter().any(|name| one.starts_with(name)));
    assert_eq!(different, [] as [String; 0]);
    assert!(
        compared > 400,
        "{compared} compared, not known to PostgreSQL: {unknown:?}"
    );
}

/// Returns the first day whose start differs from the midnight of PostgreSQL. Of a midnight that occurs twice PostgreSQL returns the later one;
/// the earlier one is expected.
fn first_difference(zone: &Zone, steps: &[(i64, i64)]) -> Option<Day> {
    let (mut steps, mut expected) = (steps.iter().peekable(), 0);
    for number in 0..DAYS {
        expected += 86_400;
        if let Some((_, at)) = steps.next_if(|(day, _)| *day == number) {
            expected = *at;
        }
        let day = Day::EPOCH.plus_days(number).expect("a supported day");
        let start = zone.start_of_day(day.get());
        let found = start.unix_millis() / 1000;
        let is_earlier_midnight = || {
            let later = Timestamp::UNIX_EPOCH.after(Duration::seconds(expected));
            let passed = Duration::seconds(expected - found);
            // Both instants show the same local time: clocks were set back between them by the time that has passed.
            passed.is_positive()
                && zone.local_date(later) == day.get()
                && is_midnight(zone, start)
                && is_midnight(zone, later)
        };
        if found != expected && !is_earlier_midnight() {
            return Some(day);
        }
    }
    None
}

/// Whether an instant begins a local day, or repeats its beginning.
fn is_midnight(zone: &Zone, instant: Timestamp) -> bool {
    let before = zone.local_date(instant.before(Duration::MILLISECOND));
    zone.local_date(instant) != before || zone.start_of_day(zone.local_date(instant)) < instant
}

#[test]
fn the_first_instant_of_a_day_follows_the_last_one_of_the_day_before() {
    for name in Zone::names() {
        let zone = Zone::parse(&name).expect("a listed zone");
        let mut number = 0;
        while number < DAYS {
            let day = Day::EPOCH.plus_days(number).expect("a supported day").get();
            let start = zone.start_of_day(day);
            assert!(zone.local_date(start) >= day, "{name} {day}");
            assert!(
                zone.local_date(start.before(Duration::MILLISECOND)) < day,
                "{name} {day}"
            );
            number += 1;
        }
    }
}

#[test]
fn names_are_found_in_any_case_and_nothing_else_is() {
    for (name, expected) in [
        ("europe/WARSAW", Some("Europe/Warsaw")),
        ("utc", Some("UTC")),
        ("Etc/GMT+5", Some("Etc/GMT+5")),
        ("+02:00", None),
        ("UTC+2", None),
        ("EST5EDT4,M3.2.0,M11.1.0", None),
        ("Etc/Unknown", None),
        ("", None),
        (" UTC", None),
        ("../etc/localtime", None),
    ] {
        let zone = Zone::parse(name);
        assert_eq!(zone.as_ref().map(Zone::name), expected, "{name}");
    }
}

#[test]
fn local_days_of_an_interval_end_before_its_end() {
    let zone = Zone::parse("Europe/Warsaw").expect("a zone");
    let at = |text: &str| Timestamp::parse(text).expect("an instant");
    let days = |from: &str, to: &str| {
        let (first, last) = zone.local_dates(at(from), at(to));
        (first.to_string(), last.to_string())
    };
    let both = |first: &str, last: &str| (first.to_owned(), last.to_owned());

    assert_eq!(
        days("2026-01-09T22:00:00Z", "2026-01-09T23:00:00Z"),
        both("2026-01-09", "2026-01-09")
    );
    assert_eq!(
        days("2026-01-09T22:00:00Z", "2026-01-09T23:30:00Z"),
        both("2026-01-09", "2026-01-10")
    );
}
