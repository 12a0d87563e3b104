//! Assignments that are given by dates.

use serde_json::{Value, json};

use crate::fixture::{ASSIGNMENTS, Fixture, codes};

fn by_dates(fixture: &Fixture, first: &str, behind: &str) -> Value {
    json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startDate": first,
        "endDateExclusive": behind})
}

#[actix_web::test]
async fn dsp_24_dates_become_instants_in_the_zone_of_the_organization() {
    let fixture = Fixture::new().await;

    let id = fixture
        .create(ASSIGNMENTS, by_dates(&fixture, "2026-03-29", "2026-03-30"))
        .await;

    let item = fixture.item(ASSIGNMENTS, id).await;
    let field = |name: &str| item[name].as_str().expect("a text").to_owned();
    assert_eq!(
        ["startDate", "endDateExclusive", "startAt", "endAt"].map(field),
        [
            "2026-03-29",
            "2026-03-30",
            "2026-03-28T23:00:00.000Z",
            "2026-03-29T22:00:00.000Z"
        ]
    );
}

#[actix_web::test]
async fn dsp_24_both_kinds_of_time_and_too_long_ones_are_rejected() {
    let fixture = Fixture::new().await;
    let mut both = by_dates(&fixture, "2026-03-29", "2026-03-30");
    both["startAt"] = json!("2026-03-29T08:00:00Z");
    let cases = [
        (both, "invalid_interval"),
        (by_dates(&fixture, "2026-03-29", "2027-03-31"), "span_too_long"),
        (by_dates(&fixture, "2026-03-29", "2026-03-29"), "invalid_interval"),
        (by_dates(&fixture, "2026-02-29", "2026-03-29"), "invalid_interval"),
        (by_dates(&fixture, "2026-3-2", "2026-03-29"), "invalid_interval"),
        (by_dates(&fixture, "2199-12-31", "2200-01-01"), "invalid_interval"),
    ];
    for (body, code) in cases {
        let (status, rejection) = fixture.post(ASSIGNMENTS, body.clone()).await;

        assert_eq!((status, codes(&rejection).0), (400, code), "{body}");
    }
    fixture
        .create(ASSIGNMENTS, by_dates(&fixture, "2026-03-29", "2027-03-30"))
        .await;
}

#[actix_web::test]
async fn an_assignment_changes_from_dates_to_instants_and_back() {
    let fixture = Fixture::new().await;
    let id = fixture
        .create(ASSIGNMENTS, by_dates(&fixture, "2026-01-06", "2026-01-08"))
        .await;

    // One date moves alone; one instant can't, as there is none to keep.
    assert_eq!(
        fixture
            .put(ASSIGNMENTS, id, json!({"endDateExclusive": "2026-01-07"}))
            .await
            .0,
        200
    );
    assert_eq!(fixture.item(ASSIGNMENTS, id).await["endAt"], "2026-01-06T23:00:00.000Z");
    for body in [
        json!({"startAt": "2026-01-06T08:00:00Z"}),
        json!({"startDate": null, "endDateExclusive": null}),
    ] {
        let (status, rejection) = fixture.put(ASSIGNMENTS, id, body.clone()).await;
        assert_eq!((status, codes(&rejection).0), (400, "invalid_interval"), "{body}");
    }

    let instants = json!({"startAt": "2026-01-06T08:00:00Z", "endAt": "2026-01-06T09:00:00Z"});
    assert_eq!(fixture.put(ASSIGNMENTS, id, instants).await.0, 200);
    let item = fixture.item(ASSIGNMENTS, id).await;
    assert_eq!(
        (&item["startDate"], &item["startAt"]),
        (&Value::Null, &json!("2026-01-06T08:00:00.000Z"))
    );
    let dates = json!({"startDate": "2026-01-09", "endDateExclusive": "2026-01-10"});
    assert_eq!(fixture.put(ASSIGNMENTS, id, dates).await.0, 200);
    assert_eq!(
        fixture.item(ASSIGNMENTS, id).await["startAt"],
        "2026-01-08T23:00:00.000Z"
    );
}

#[actix_web::test]
async fn days_that_do_not_exist_in_the_zone_are_rejected() {
    let fixture = Fixture::new().await;
    let organization = fixture.a.organization;
    fixture
        .app
        .sql(&format!(
            "update calendar_working_calendars set time_zone = 'Pacific/Apia' where id = '{organization}'"
        ))
        .await;

    let (status, rejection) = fixture
        .post(ASSIGNMENTS, by_dates(&fixture, "2011-12-30", "2011-12-31"))
        .await;

    assert_eq!(
        (status, codes(&rejection)),
        (
            400,
            ("invalid_interval", vec![("endDateExclusive", "invalid_interval")])
        )
    );
}

#[actix_web::test]
async fn a_new_zone_moves_assignments_that_were_given_by_dates_and_undo_moves_them_back() {
    let fixture = Fixture::new().await;
    let by_dates = fixture
        .create(ASSIGNMENTS, by_dates(&fixture, "2026-03-29", "2026-03-30"))
        .await;
    let by_instants = fixture.assign("08:00", "12:00").await;
    let calendar = json!({"timeZone": "America/Sao_Paulo", "offWeekdays": ["sat", "sun"], "holidays": []});
    let path = "/calendar/working-calendar";

    let replaced = fixture
        .app
        .send(&fixture.a.token, actix_web::http::Method::PUT, path, calendar)
        .await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());

    let item = fixture.item(ASSIGNMENTS, by_dates).await;
    assert_eq!(
        (&item["startAt"], &item["endAt"], &item["startDate"]),
        (
            &json!("2026-03-29T03:00:00.000Z"),
            &json!("2026-03-30T03:00:00.000Z"),
            &json!("2026-03-29")
        )
    );
    assert_eq!(
        fixture.item(ASSIGNMENTS, by_instants).await["startAt"],
        "2026-01-06T08:00:00.000Z"
    );

    let undone = fixture.app.undo(&fixture.a.token, &replaced).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(
        fixture.item(ASSIGNMENTS, by_dates).await["startAt"],
        "2026-03-28T23:00:00.000Z"
    );
}

#[actix_web::test]
async fn an_assignment_that_a_new_zone_moves_to_a_later_start_is_reminded_of_again() {
    let fixture = Fixture::new().await;
    fixture
        .create(ASSIGNMENTS, by_dates(&fixture, "2026-03-29", "2026-03-30"))
        .await;
    let marked = "update dispatch_assignments set reminded_at = '2026-01-05T08:00:00Z'";
    assert_eq!(fixture.app.sql(marked).await, 1);
    let is_marked_in = async |zone: &str| {
        let calendar = json!({"timeZone": zone, "offWeekdays": ["sat", "sun"], "holidays": []});
        let (status, body) = fixture
            .app
            .put(&fixture.a.token, "/calendar/working-calendar", calendar)
            .await;
        assert_eq!(status, 200, "{body}");
        let marked = "dispatch_assignments where reminded_at is not null";
        fixture.app.count(marked).await == 1
    };

    assert!(is_marked_in("Asia/Tokyo").await, "the start is earlier");
    assert!(!is_marked_in("America/Sao_Paulo").await, "the start is later");
}

#[actix_web::test]
async fn any_change_of_the_calendar_derives_instants_that_missed_a_new_zone() {
    let fixture = Fixture::new().await;
    let id = fixture
        .create(ASSIGNMENTS, by_dates(&fixture, "2026-03-29", "2026-03-30"))
        .await;
    // As if the module had been disabled.
    let zone = "update calendar_working_calendars set time_zone = 'America/Sao_Paulo'";
    assert_eq!(fixture.app.sql(zone).await, 1);
    let start_with = async |holidays: Value| {
        let body = json!({"timeZone": "America/Sao_Paulo", "offWeekdays": ["sat", "sun"], "holidays": holidays});
        let path = "/calendar/working-calendar";
        let (status, body) = fixture.app.put(&fixture.a.token, path, body).await;
        assert_eq!(status, 200, "{body}");
        fixture.item(ASSIGNMENTS, id).await["startAt"].clone()
    };

    assert_eq!(start_with(json!([])).await, "2026-03-28T23:00:00.000Z");
    let one = json!([{"date": "2026-12-25", "name": "Christmas"}]);
    assert_eq!(start_with(one).await, "2026-03-29T03:00:00.000Z");
}
