//! Alerts that do not come from overlaps.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, Fixture, JOB_SITES, RESOURCES, WINDOWS, assignments};

fn window(fixture: &Fixture, from: &str, to: &str) -> Value {
    json!({"resourceType": "equipment", "resourceId": fixture.e1, "startDate": from, "endDateExclusive": to,
        "reasonCode": "maintenance"})
}

#[actix_web::test]
async fn dsp_23_a_window_concerns_only_assignments_that_meet_it() {
    let fixture = Fixture::new().await;
    let id = fixture
        .create(WINDOWS, window(&fixture, "2026-01-12", "2026-01-14"))
        .await;
    let meets = fixture.assign("13T22:30", "13T23:30").await;
    let after = fixture.assign("13T23", "14T02").await;

    let expected = vec![
        ("subject_overlap_same_site".to_owned(), vec![meets, after]),
        ("subject_unavailable".to_owned(), vec![meets]),
    ];
    assert_eq!(fixture.conflicts().await, expected);
    let open = fixture.open().await;
    let unavailable = open
        .iter()
        .find(|alert| alert["kind"] == "subject_unavailable")
        .expect("an alert");
    assert_eq!(
        (&unavailable["windowId"], &unavailable["urgency"]),
        (&json!(id), &json!("critical"))
    );
    // The window ends when the day does in Warsaw.
    assert_eq!(unavailable["expiresAt"], "2026-01-13T23:00:00.000Z");
    fixture.read(&fixture.d.token, unavailable).await;

    // A longer window meets both.
    fixture
        .change(WINDOWS, id, json!({"endDateExclusive": "2026-01-15"}))
        .await;
    let grown = fixture.item(&fixture.d.token, unavailable).await;
    assert_eq!(
        (assignments(&grown), &grown["read"]),
        (vec![meets, after], &json!(false))
    );
    let deleted = fixture.remove(WINDOWS, id).await;
    assert_eq!(fixture.conflicts().await, expected[..1]);
    assert_eq!(fixture.undo(&fixture.a.token, &deleted).await.0, 200);
    assert_eq!(fixture.conflicts().await[1].1, [meets, after]);
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_25_an_assignment_that_touches_off_days_only_is_an_alert() {
    let fixture = Fixture::new().await;
    let mut dates = fixture.at(fixture.s1, "06T08", "06T09");
    let fields = dates.as_object_mut().expect("an object");
    fields.retain(|name, _| !name.ends_with("At"));
    fields.extend([
        ("startDate".to_owned(), json!("2026-01-10")),
        ("endDateExclusive".to_owned(), json!("2026-01-11")),
    ]);
    let saturday = fixture.create(ASSIGNMENTS, dates).await;

    // It begins on Friday, in Warsaw. The other subject keeps it from overlapping.
    let other = fixture.resource("E2").await;
    let mut body = fixture.at(fixture.s1, "09T22", "09T23:30");
    body["subjectId"] = json!(other);
    fixture.create(ASSIGNMENTS, body).await;

    let alert = fixture.only().await;
    assert_eq!(
        (&alert["kind"], &alert["urgency"]),
        (&json!("non_working_day"), &json!("info"))
    );
    assert_eq!(assignments(&alert), [saturday]);
    let replaced = fixture.calendar(&["sun"]).await;
    assert_eq!(fixture.open().await, Vec::<Value>::new());
    assert_eq!(fixture.undo(&fixture.a.token, &replaced).await.0, 200);
    assert_eq!(assignments(&fixture.only().await), [saturday]);
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_26_inactive_subjects_and_closed_sites_are_warnings() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("06T08", "06T12").await;

    let deactivated = fixture.change(RESOURCES, fixture.e1, json!({"isActive": false})).await;
    let closed = fixture.change(JOB_SITES, fixture.s1, json!({"status": "closed"})).await;

    let open = fixture.open().await;
    assert!(open.iter().all(|alert| alert["urgency"] == "warning"), "{open:?}");
    let expected = [
        ("job_site_closed".to_owned(), vec![id]),
        ("subject_inactive".to_owned(), vec![id]),
    ];
    assert_eq!(fixture.conflicts().await, expected);
    assert_eq!(fixture.undo(&fixture.a.token, &closed).await.0, 200);
    assert_eq!(fixture.conflicts().await, expected[1..]);
    assert_eq!(fixture.undo(&fixture.a.token, &deactivated).await.0, 200);
    assert_eq!(fixture.open().await, Vec::<Value>::new());
    let path = format!("{JOB_SITES}/{}", fixture.s1);
    let rejected = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, Value::Null)
        .await;
    assert_eq!(
        (rejected.status, &rejected.json()["code"]),
        (409, &json!("job_site_in_use"))
    );
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn an_assignment_outside_of_the_dates_of_its_site_is_a_warning() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("06T22", "06T23:30").await;

    // The assignment ends at half past midnight of the 7th, in Warsaw.
    fixture
        .change(
            JOB_SITES,
            fixture.s1,
            json!({"startDate": "2026-01-01", "endDateExclusive": "2026-01-07"}),
        )
        .await;
    assert_eq!(fixture.conflicts().await, [("job_site_closed".to_owned(), vec![id])]);
    fixture
        .change(JOB_SITES, fixture.s1, json!({"endDateExclusive": "2026-01-08"}))
        .await;
    assert_eq!(fixture.open().await, Vec::<Value>::new());
    fixture
        .change(JOB_SITES, fixture.s1, json!({"startDate": "2026-01-07"}))
        .await;
    assert_eq!(fixture.conflicts().await, [("job_site_closed".to_owned(), vec![id])]);
}

#[actix_web::test]
async fn dsp_27_an_alert_ends_by_itself() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("06T08", "06T12").await;
    let second = fixture.assign("06T11", "06T15").await;
    fixture.app.clock().set(crate::fixture::instant("2026-01-06T11:59:59Z"));
    let admin = backoffice_test_accounts::login(&fixture.app, "admin@alpha.test").await;
    let list = async |query: &str| fixture.page(&admin, query).await;
    assert_eq!(
        (&list("").await["total"], &list("?resolved=true").await["total"]),
        (&json!(1), &json!(0))
    );

    fixture.app.advance(Duration::SECOND);

    for is_swept in [false, true] {
        if is_swept {
            fixture.run_schedules().await;
            fixture.app.advance(Duration::MINUTE);
            fixture.run_schedules().await;
        }
        let open = list("").await;
        assert_eq!(
            (&open["total"], &open["unreadCount"]),
            (&json!(0), &json!(0)),
            "{is_swept}"
        );
        let resolved = list("?resolved=true").await;
        assert_eq!(resolved["total"], 1);
        assert_eq!(resolved["items"][0]["resolvedAt"], "2026-01-06T12:00:00.000Z");
        assert_eq!(assignments(&resolved["items"][0]), [first, second]);
        let rows = fixture
            .app
            .rows("select resolved_at is not null as is_swept from alerts_alerts")
            .await;
        assert_eq!(rows, [json!({"is_swept": is_swept})]);
    }
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn an_alert_that_has_ended_does_not_come_back() {
    let fixture = Fixture::new().await;
    let id = fixture
        .create(WINDOWS, window(&fixture, "2026-01-06", "2026-01-07"))
        .await;
    fixture.assign("06T08", "07T12").await;
    let ended = fixture.only().await;
    fixture.app.clock().set(crate::fixture::instant("2026-01-06T23:00:00Z"));
    let admin = backoffice_test_accounts::login(&fixture.app, "admin@alpha.test").await;
    assert_eq!(fixture.page(&admin, "").await["total"], 0);

    // The conflict is there again, before a schedule has stored the end of the alert.
    let path = format!("{WINDOWS}/{id}");
    let longer = json!({"endDateExclusive": "2026-01-08"});
    assert_eq!(fixture.app.send(&admin, Method::PUT, &path, longer).await.status, 200);

    let open = fixture.page(&admin, "").await;
    assert_eq!(open["total"], 1);
    assert_ne!(open["items"][0]["alertId"], ended["alertId"]);
    assert_eq!(
        fixture.item(&admin, &ended).await["resolvedAt"],
        "2026-01-06T23:00:00.000Z"
    );
}

#[actix_web::test]
async fn an_overlap_on_two_sites_is_one_on_the_same_site_once_the_other_ends() {
    let fixture = Fixture::new().await;
    fixture
        .create(ASSIGNMENTS, fixture.at(fixture.s2, "05T07", "05T09"))
        .await;
    let second = fixture.assign("05T08", "05T12").await;
    let third = fixture.assign("05T08", "05T13").await;
    assert_eq!(fixture.only().await["kind"], "subject_overlap_different_sites");
    fixture.run_schedules().await;

    fixture.app.clock().set(crate::fixture::instant("2026-01-05T09:00:00Z"));

    for is_swept in [false, true] {
        if is_swept {
            fixture.run_schedules().await;
        }
        let alert = fixture.only().await;
        assert_eq!(
            (&alert["kind"], assignments(&alert)),
            (&json!("subject_overlap_same_site"), vec![second, third]),
            "{is_swept}"
        );
        assert_eq!(fixture.item(&fixture.d.token, &alert).await["kind"], alert["kind"]);
        let of_kind =
            async |kind: &str| fixture.page(&fixture.d.token, &format!("?kinds={kind}")).await["total"].clone();
        assert_eq!(of_kind("subject_overlap_same_site").await, 1);
        assert_eq!(of_kind("subject_overlap_different_sites").await, 0);
        let (_, summary) = fixture.app.get(&fixture.d.token, "/alerts/summary").await;
        assert_eq!(summary["byKind"]["subject_overlap_same_site"], 1, "{summary}");
        assert_eq!(summary["byKind"]["subject_overlap_different_sites"], 0, "{summary}");
        assert_eq!(summary["unreadCount"], 1);
        let rows = fixture
            .app
            .rows("select kind = 'subject_overlap_same_site' as is_swept from alerts_alerts")
            .await;
        assert_eq!(rows, [json!({"is_swept": is_swept})]);
    }
    fixture.assert_no_difference().await;
}
