//! Overlapping assignments.

use actix_web::http::Method;
use serde_json::{Value, json};
use time::Duration;

use crate::fixture::{ASSIGNMENTS, BULK, Fixture, assignments, sites, text};

#[actix_web::test]
async fn dsp_17_two_assignments_at_once_are_one_critical_alert() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("06T08", "06T12").await;

    let (status, written) = fixture
        .app
        .post(&fixture.a.token, ASSIGNMENTS, fixture.at(fixture.s1, "06T11", "06T15"))
        .await;

    assert_eq!(status, 201, "{written}");
    let alert = fixture.only().await;
    assert_eq!(written["alertIds"], json!([alert["alertId"]]));
    assert_eq!(
        (&alert["kind"], &alert["urgency"]),
        (&json!("subject_overlap_same_site"), &json!("critical"))
    );
    assert_eq!(alert["conflictingAssignmentIds"], json!([first, written["id"]]));
    assert_eq!(sites(&alert), ["S1"]);
    assert_eq!(
        (&alert["read"], &alert["notificationId"]),
        (&json!(false), &Value::Null)
    );
    assert_eq!(alert["expiresAt"], "2026-01-06T12:00:00.000Z");
    assert_eq!(
        alert["subject"],
        json!({"type": "equipment", "id": fixture.e1, "name": "E1"})
    );
    let link = format!(
        "/backend/dispatch/board?subject=equipment:{}&from=2026-01-06",
        fixture.e1
    );
    assert_eq!(alert["linkHref"], link);
    assert_eq!(fixture.page(&fixture.d.token, "").await["unreadCount"], 1);
    assert_eq!(fixture.item(&fixture.d.token, &alert).await, alert);
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_18_assignments_that_touch_are_no_conflict() {
    let fixture = Fixture::new().await;

    fixture.assign("06T08", "06T12").await;
    fixture.assign("06T12", "06T16").await;

    assert_eq!(fixture.open().await, Vec::<Value>::new());
}

#[actix_web::test]
async fn dsp_19_the_hour_that_occurs_twice_is_two_hours() {
    let fixture = Fixture::new().await;
    for (from, to) in [
        ("2026-10-25T02:30:00+02:00", "2026-10-25T02:45:00+02:00"),
        ("2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00"),
    ] {
        let mut body = fixture.at(fixture.s1, "06T08", "06T09");
        (body["startAt"], body["endAt"]) = (json!(from), json!(to));
        fixture.create(ASSIGNMENTS, body).await;
    }

    // Both are on a Sunday.
    let kinds: Vec<String> = fixture.conflicts().await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["non_working_day", "non_working_day"]);
}

#[actix_web::test]
async fn dsp_20_a_chain_breaks_and_is_joined_again() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("06T08", "06T12").await;
    let middle = fixture.assign("06T11", "06T15").await;
    let last = fixture.assign("06T14", "06T18").await;
    let alert = fixture.only().await;
    assert_eq!(assignments(&alert), [first, middle, last]);

    let deleted = fixture.remove(ASSIGNMENTS, middle).await;

    assert_eq!(fixture.open().await, Vec::<Value>::new());
    let resolved = fixture.item(&fixture.d.token, &alert).await;
    assert_eq!(resolved["resolvedAt"], json!(fixture.app.now()));
    assert_eq!(assignments(&resolved), [first, middle, last]);
    let undone = fixture.undo(&fixture.a.token, &deleted).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    let again = fixture.only().await;
    assert_ne!(again["alertId"], alert["alertId"]);
    assert_eq!(assignments(&again), [first, middle, last]);
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_21_a_change_keeps_marks_and_growth_removes_them() {
    let fixture = Fixture::new().await;
    fixture.assign("06T08", "06T12").await;
    let second = fixture.assign("06T11", "06T15").await;
    let alert = fixture.only().await;
    fixture.read(&fixture.d.token, &alert).await;

    fixture
        .change(ASSIGNMENTS, second, json!({"jobSiteId": fixture.s2}))
        .await;

    let moved = fixture.only().await;
    assert_eq!(moved["alertId"], alert["alertId"]);
    assert_eq!(moved["kind"], "subject_overlap_different_sites");
    assert_eq!(sites(&moved), ["S1", "S2"]);
    assert_eq!(
        (&moved["read"], &moved["occurredAt"]),
        (&json!(true), &alert["occurredAt"])
    );
    let third = fixture.assign("06T14", "06T16").await;
    let grown = fixture.only().await;
    assert_eq!(grown["alertId"], alert["alertId"]);
    assert_eq!((assignments(&grown).len(), assignments(&grown)[2]), (3, third));
    assert_eq!(
        (&grown["read"], &grown["occurredAt"]),
        (&json!(false), &json!(fixture.app.now()))
    );
    assert_eq!(grown["urgency"], "critical");
}

#[actix_web::test]
async fn dsp_22_a_split_keeps_one_alert_and_a_merge_the_older_one() {
    let fixture = Fixture::new().await;
    let mut all = Vec::new();
    for (from, to) in [
        ("06T08", "06T10"),
        ("06T09", "06T12"),
        ("06T11", "06T14"),
        ("06T13", "06T16"),
        ("06T15", "06T18"),
    ] {
        all.push(fixture.assign(from, to).await);
    }
    let x = fixture.only().await;

    fixture
        .change(ASSIGNMENTS, all[2], json!({"status": "cancelled"}))
        .await;

    let open = fixture.open().await;
    let found = |first| {
        open.iter()
            .find(|alert| assignments(alert)[0] == first)
            .expect("an alert")
    };
    let (kept, opened) = (found(all[0]), found(all[3]));
    assert_eq!((open.len(), &kept["alertId"]), (2, &x["alertId"]));
    assert_eq!(
        (assignments(kept), assignments(opened)),
        (all[..2].to_vec(), all[3..].to_vec())
    );
    fixture.change(ASSIGNMENTS, all[2], json!({"status": "planned"})).await;
    let merged = fixture.only().await;
    assert_eq!((&merged["alertId"], assignments(&merged)), (&x["alertId"], all));
    assert!(fixture.item(&fixture.d.token, opened).await["resolvedAt"].is_string());
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn a_check_names_the_alert_that_the_assignment_then_joins() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("06T08", "06T12").await;
    let elsewhere = fixture.at(fixture.s2, "06T11", "06T15");
    let second = fixture.create(ASSIGNMENTS, elsewhere).await;
    let body = fixture.at(fixture.s1, "06T07", "06T09");

    let (status, checked) = fixture
        .app
        .post(&fixture.a.token, "/dispatch/assignments/check", body.clone())
        .await;
    let third = fixture.create(ASSIGNMENTS, body).await;

    assert_eq!(status, 200, "{checked}");
    let alert = fixture.only().await;
    assert_eq!(assignments(&alert), [third, first, second]);
    assert_eq!(alert["kind"], "subject_overlap_different_sites");
    assert_eq!(
        checked["conflicts"],
        json!([{"kind": alert["kind"], "urgency": alert["urgency"], "assignmentIds": [first, second], "windowIds": [],
            "jobSites": alert["jobSites"]}])
    );
}

#[actix_web::test]
async fn an_assignment_that_moves_to_another_subject_changes_the_alerts_of_both() {
    let fixture = Fixture::new().await;
    let e2 = fixture.resource("E2").await;
    fixture.assign("06T08", "06T12").await;
    let second = fixture.assign("06T11", "06T15").await;
    let mut other = fixture.at(fixture.s1, "06T14", "06T16");
    other["subjectId"] = json!(e2);
    fixture.create(ASSIGNMENTS, other).await;

    let moved = fixture
        .change(
            ASSIGNMENTS,
            second,
            json!({"subjectType": "equipment", "subjectId": e2}),
        )
        .await;

    let alert = fixture.only().await;
    assert_eq!(alert["subject"]["name"], "E2");
    assert_eq!(moved.json()["alertIds"], json!([alert["alertId"]]));
    assert_eq!(fixture.undo(&fixture.a.token, &moved).await.0, 200);
    assert_eq!(fixture.only().await["subject"]["name"], "E1");
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn a_renamed_subject_is_shown_by_its_new_name() {
    let fixture = Fixture::new().await;
    fixture.assign("06T08", "06T12").await;
    fixture.assign("06T11", "06T15").await;
    let alert = fixture.only().await;
    fixture.read(&fixture.d.token, &alert).await;

    fixture
        .change(crate::fixture::RESOURCES, fixture.e1, json!({"name": "Digger"}))
        .await;
    fixture
        .change(crate::fixture::JOB_SITES, fixture.s1, json!({"name": "Harbour"}))
        .await;

    let renamed = fixture.only().await;
    assert_eq!(
        (text(&renamed["subject"]["name"]), sites(&renamed)),
        ("Digger".to_owned(), vec!["Harbour".to_owned()])
    );
    assert_eq!(renamed["read"], true);
}

/// More assignments than the interval of a group is widened by: the subject is then recomputed as a whole.
#[actix_web::test]
async fn a_long_chain_is_one_alert_wherever_it_is_changed() {
    let fixture = Fixture::new().await;
    let start = fixture.app.now();
    let items: Vec<Value> = (0..60)
        .map(|day| {
            json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1,
                "startAt": start.after(Duration::hours(24 * day + 1)), "endAt": start.after(Duration::hours(24 * day + 26))})
        })
        .collect();
    let created = fixture
        .app
        .send(&fixture.a.token, Method::POST, BULK, json!({ "items": items }))
        .await;
    assert_eq!(created.status, 201, "{}", created.text());
    let overlaps = async || {
        let open = fixture.open().await.into_iter();
        open.filter(|alert| alert["kind"] == "subject_overlap_same_site")
            .map(|alert| assignments(&alert))
            .collect::<Vec<_>>()
    };
    let [chain] = overlaps().await.try_into().expect("one alert");
    assert_eq!(chain.len(), 60);

    let last = fixture.remove(ASSIGNMENTS, chain[59]).await;
    assert_eq!(overlaps().await, [chain[..59].to_vec()]);
    let middle = fixture.remove(ASSIGNMENTS, chain[30]).await;
    let mut parts = overlaps().await;
    parts.sort_by_key(Vec::len);
    assert_eq!(parts, [chain[31..59].to_vec(), chain[..30].to_vec()]);

    for deleted in [middle, last] {
        let undone = fixture.undo(&fixture.a.token, &deleted).await;
        assert_eq!(undone.0, 200, "{}", undone.1);
    }
    assert_eq!(overlaps().await, [chain]);
    fixture.assert_no_difference().await;
}
