//! Dispatchers book one worker for the same hours at the same instant, again and again.

use backoffice_test_accounts::id_of;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use time::Date;
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, Fixture, assignments};

/// Rounds of two dispatchers, unless the variable says otherwise.
const ROUNDS: usize = 100;
/// Rounds of many writers, unless the variable says otherwise.
const ROUNDS_OF_MANY: usize = 10;
const WRITERS: usize = 20;
const REJECTING: &str = "/dispatch/assignments?rejectConflicts=true";

fn rounds(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Returns the body of an assignment of the excavator for the hours of a round, on a day of its own.
fn booking(fixture: &Fixture, round: usize) -> Value {
    let first = Date::from_calendar_date(2026, time::Month::January, 6).expect("a day");
    let day = first.saturating_add(time::Duration::days(i64::try_from(round).expect("a small number")));
    json!({
        "jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1,
        "startAt": format!("{day}T08:00:00Z"), "endAt": format!("{day}T12:00:00Z")
    })
}

async fn book(fixture: &Fixture, token: &str, path: &str, round: usize) -> (u16, Value) {
    fixture.app.post(token, path, booking(fixture, round)).await
}

/// Returns the tokens of both dispatchers, each first in every other round.
fn callers(fixture: &Fixture, round: usize) -> [&str; 2] {
    let (a, d) = (fixture.a.token.as_str(), fixture.d.token.as_str());
    if round.is_multiple_of(2) { [a, d] } else { [d, a] }
}

/// Returns the assignments of each open alert, sorted.
async fn alerts(fixture: &Fixture) -> Vec<Vec<Uuid>> {
    let of_alert = |alert: &Value| {
        let mut ids = assignments(alert);
        ids.sort_unstable();
        ids
    };
    let mut alerts: Vec<_> = fixture.all_open(&fixture.d.token).await.iter().map(of_alert).collect();
    alerts.sort_unstable();
    alerts
}

#[actix_web::test]
async fn two_dispatchers_at_the_same_instant_make_one_alert_and_no_booking_without_it() {
    let fixture = Fixture::new().await;
    fixture.calendar(&[]).await;
    let rounds = rounds("BACKOFFICE_ALERTS_ROUNDS", ROUNDS);
    let mut booked = Vec::new();
    let mut firsts = [0, 0];
    for round in 0..rounds {
        let [one, other] = callers(&fixture, round);
        let both = join(
            book(&fixture, one, ASSIGNMENTS, round),
            book(&fixture, other, ASSIGNMENTS, round),
        );
        let ((first, of_first), (second, of_second)) = both.await;
        assert_eq!((first, second), (201, 201), "round {round}: {of_first} {of_second}");
        let mut ids = vec![id_of(&of_first), id_of(&of_second)];
        ids.sort_unstable();
        booked.push(ids);
        // The one that was stored second opened the alert, and says so.
        let opened = [&of_first, &of_second].map(|body| body["alertIds"].as_array().expect("alerts").len());
        assert!(
            opened == [0, 1] || opened == [1, 0],
            "round {round}: {of_first} {of_second}"
        );
        firsts[(opened[0] + round) % 2] += 1;
    }
    booked.sort_unstable();

    assert_eq!(alerts(&fixture).await, booked);
    assert!(
        firsts.iter().all(|count| *count > 0),
        "each is first at times: {firsts:?}"
    );
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn one_of_two_dispatchers_at_the_same_instant_wins_if_conflicts_are_rejected() {
    let fixture = Fixture::new().await;
    fixture.calendar(&[]).await;
    let rounds = rounds("BACKOFFICE_ALERTS_ROUNDS", ROUNDS);
    let mut winners = [0, 0];
    for round in 0..rounds {
        let [one, other] = callers(&fixture, round);
        let both = join(
            book(&fixture, one, REJECTING, round),
            book(&fixture, other, REJECTING, round),
        );
        let ((first, of_first), (second, of_second)) = both.await;
        let (winner, rejection) = match (first, second) {
            (201, 409) => (0, of_second),
            (409, 201) => (1, of_first),
            other => panic!("round {round}: {other:?} {of_first} {of_second}"),
        };
        winners[(winner + round) % 2] += 1;
        assert_eq!(
            rejection["conflictingAssignmentIds"].as_array().map(Vec::len),
            Some(1),
            "round {round}: {rejection}"
        );
    }

    assert!(
        winners.iter().all(|count| *count > 0),
        "each wins at times: {winners:?}"
    );
    let stored = fixture.app.rows("select id from dispatch_assignments").await;
    assert_eq!(stored.len(), rounds);
    assert_eq!(alerts(&fixture).await, Vec::<Vec<Uuid>>::new());
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_30_many_writers_of_a_subject_meet_no_deadlock() {
    let fixture = Fixture::new().await;
    fixture.calendar(&[]).await;
    let rounds = rounds("BACKOFFICE_ALERTS_ROUNDS_OF_MANY", ROUNDS_OF_MANY);
    let (mut booked, mut single) = (Vec::new(), 0);
    for round in 0..rounds {
        let rejects = round % 2 == 1;
        let path = if rejects { REJECTING } else { ASSIGNMENTS };
        let written = join_all((0..WRITERS).map(|_| book(&fixture, &fixture.a.token, path, round))).await;
        let mut ids: Vec<Uuid> = Vec::new();
        for (status, body) in written {
            match status {
                201 => ids.push(id_of(&body)),
                409 if rejects => {}
                _ => panic!("round {round}: {status} {body}"),
            }
        }
        ids.sort_unstable();
        if rejects {
            assert_eq!(ids.len(), 1, "round {round}");
            single += 1;
        } else {
            assert_eq!(ids.len(), WRITERS, "round {round}");
            booked.push(ids);
        }
    }
    booked.sort_unstable();

    assert_eq!(alerts(&fixture).await, booked);
    let stored = fixture.app.rows("select id from dispatch_assignments").await;
    assert_eq!(stored.len(), single + booked.len() * WRITERS);
    fixture.assert_no_difference().await;
}
