//! Concurrency, bulk changes, jobs and schedules.

use actix_web::http::Method;
use backoffice_calendar::ExtendAllSeries;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{NewJob, enqueue};
use backoffice_core::{Call, Scope};
use backoffice_test_accounts::login;
use backoffice_test_support::{Duration, UndoableWrite};
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, BULK, Fixture, JOB_SITES, assignments, builder};

/// Lets the platform extend all series.
async fn extend_series(fixture: &Fixture) {
    let call = Call::internal(fixture.app.runtime());
    let transaction = call.database().transaction(&Scope::system()).await;
    let mut transaction = transaction.expect("a transaction");
    let job = NewJob::of_system(PLATFORM_TENANT, ExtendAllSeries::default());
    let enqueued = enqueue(transaction.connection(), &call, &job).await;
    enqueued.expect("enqueued");
    transaction.commit().await.expect("committed");
    fixture.app.run_jobs().await;
}

#[actix_web::test]
async fn dsp_30_parallel_writers_of_a_subject_open_one_alert() {
    let fixture = Fixture::new().await;
    let write = async || {
        let body = fixture.at(fixture.s1, "06T08", "06T12");
        fixture.app.post(&fixture.a.token, ASSIGNMENTS, body).await.0
    };

    let written = join_all((0..20).map(|_| write())).await;

    assert_eq!(written, [201; 20]);
    let alert = fixture.only().await;
    assert_eq!(assignments(&alert).len(), 20);
    assert_eq!(fixture.page(&fixture.d.token, "?resolved=true").await["total"], 0);
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_30_one_of_parallel_writers_wins_if_conflicts_are_rejected() {
    let fixture = Fixture::new().await;
    let path = format!("{ASSIGNMENTS}?rejectConflicts=true");
    let write = async || {
        let body = fixture.at(fixture.s1, "06T08", "06T12");
        fixture.app.post(&fixture.a.token, &path, body).await.0
    };

    let mut written = join_all((0..20).map(|_| write())).await;

    written.sort_unstable();
    assert_eq!((written[0], &written[1..]), (201, &[409; 19][..]));
    assert_eq!(fixture.open().await, Vec::<Value>::new());
    assert_eq!(
        fixture.app.rows("select id from alerts_alerts").await,
        Vec::<Value>::new()
    );
}

#[actix_web::test]
async fn dsp_37_a_bulk_change_recomputes_all_subjects() {
    let fixture = Fixture::new().await;
    let mut items = Vec::new();
    for hour in 0..20 {
        items.push(fixture.at(fixture.s1, &format!("06T{hour:02}"), &format!("06T{hour:02}:30")));
        items.push(fixture.at(fixture.s1, &format!("07T{hour:02}:15"), &format!("07T{hour:02}:45")));
    }
    let (status, created) = fixture
        .app
        .post(&fixture.a.token, BULK, json!({ "items": items }))
        .await;
    assert_eq!((status, &created["alertIds"]), (201, &json!([])));
    let ids = created["ids"].as_array().expect("ids");
    let of_the_6th: Vec<&Value> = ids.iter().step_by(2).collect();

    let update = json!({"ids": of_the_6th, "shiftMinutes": 1440});
    let (status, started) = fixture
        .app
        .post(&fixture.a.token, "/dispatch/assignments/bulk-update", update)
        .await;
    assert_eq!(status, 201, "{started}");
    fixture.app.run_jobs().await;

    assert_eq!(fixture.open().await.len(), 20);
    let log = "/audit_logs/audit-logs/actions?undoableOnly=true&limit=1";
    let log = fixture.app.read(&fixture.a.token, log).await;
    let latest = UndoableWrite::from_entry(&log["items"][0]);
    let (status, undone) = fixture.app.undo(&fixture.a.token, latest).await;
    assert_eq!(status, 200, "{undone}");
    assert_eq!(fixture.open().await.len(), 19);
    fixture.assert_no_difference().await;
}

#[actix_web::test]
async fn dsp_39_a_rejected_command_leaves_no_alert() {
    let fixture = Fixture::new().await;
    fixture.assign("06T08", "06T12").await;
    let path = format!("{BULK}?rejectConflicts=true");
    let items = json!({"items": [fixture.at(fixture.s1, "07T08", "07T09"), fixture.at(fixture.s1, "06T11", "06T13")]});

    let response = fixture.app.send(&fixture.a.token, Method::POST, &path, items).await;

    assert_eq!(
        (response.status, &response.json()["code"]),
        (409, &json!("assignment_conflict"))
    );
    assert_eq!(
        fixture.app.rows("select id from alerts_alerts").await,
        Vec::<Value>::new()
    );
}

#[actix_web::test]
async fn an_organization_with_open_alerts_is_kept() {
    let fixture = Fixture::new().await;
    fixture.assign("06T08", "06T12").await;
    let path = format!("/directory/organizations?id={}", fixture.a.organization);

    let (status, body) = fixture.app.delete(&fixture.root, &path, Value::Null).await;

    assert_eq!(status, 409, "{body}");
}

#[actix_web::test]
async fn a_job_recomputes_the_subjects_that_did_not_fit() {
    let fixture = Fixture::with(builder().config("[alerts]\ninline_subjects = 3\n")).await;
    let mut items = Vec::new();
    for number in 0..110 {
        let id = fixture.resource(&format!("R{number}")).await;
        let mut body = fixture.at(fixture.s1, "06T08", "06T12");
        body["subjectId"] = json!(id);
        items.push(body);
    }
    let (status, body) = fixture
        .app
        .post(&fixture.a.token, BULK, json!({ "items": items }))
        .await;
    assert_eq!(status, 201, "{body}");
    let open = async || fixture.page(&fixture.d.token, "").await["total"].clone();

    fixture.change(JOB_SITES, fixture.s1, json!({"status": "closed"})).await;

    assert_eq!(open().await, 3);
    fixture.app.run_jobs().await;
    assert_eq!(open().await, 110);
    let parts = "select id from core_jobs where kind = 'alerts.subjects.recompute_listed'";
    assert_eq!(fixture.app.rows(parts).await.len(), 2);
    fixture.assert_no_difference().await;
    fixture.change(JOB_SITES, fixture.s1, json!({"status": "active"})).await;
    fixture.app.run_jobs().await;
    assert_eq!(open().await, 0);
}

#[actix_web::test]
async fn the_statements_of_a_recomputation_do_not_depend_on_the_number_of_subjects() {
    let fixture = Fixture::with(builder().through_proxy()).await;
    let mut subjects = Vec::new();
    for number in 0..20 {
        subjects.push(fixture.resource(&format!("R{number}")).await);
    }
    let create = async |subjects: &[Uuid], day: u8| {
        let of = |subject: &Uuid| {
            let mut body = fixture.at(fixture.s1, &format!("{day:02}T08"), &format!("{day:02}T12"));
            body["subjectId"] = json!(subject);
            [body.clone(), body]
        };
        let items: Vec<Value> = subjects.iter().flat_map(of).collect();
        let sent = fixture.app.post(&fixture.a.token, BULK, json!({ "items": items }));
        let ((status, _), statements) = fixture.app.count_statements(sent).await;
        assert_eq!(status, 201);
        statements
    };
    create(&subjects, 6).await;

    let (of_one, of_all) = (create(&subjects[..1], 7).await, create(&subjects, 8).await);

    assert_eq!(of_one, of_all);
}

#[actix_web::test]
async fn the_nightly_recomputation_corrects_and_reports_differences() {
    let fixture = Fixture::new().await;
    fixture.assign("06T08", "06T12").await;
    fixture.assign("06T11", "06T15").await;
    let alert = fixture.only().await;
    fixture.run_schedules().await;
    fixture
        .app
        .sql("update alerts_assignments set end_at = '2026-01-06T11:30:00Z' where start_at = '2026-01-06T08:00:00Z'")
        .await;
    fixture
        .app
        .sql("update alerts_alerts set expires_at = '2026-01-06T11:30:00Z'")
        .await;

    let all = backoffice_alerts::recompute_all(&Call::internal(fixture.app.runtime()), Some(fixture.a.id)).await;

    let all = all.expect("the database can be reached");
    assert_eq!((all.subjects, all.differences), (1, 1));
    assert_eq!(fixture.only().await["expiresAt"], alert["expiresAt"]);
    fixture.assert_no_difference().await;
    fixture.app.sql("delete from alerts_alerts").await;
    fixture.app.advance(Duration::days(1));
    fixture.run_schedules().await;
    let rows = fixture.app.rows("select kind from alerts_alerts").await;
    // A day later, the assignments have almost begun.
    assert_eq!(rows, [json!({"kind": "subject_overlap_same_site"})]);
}

#[actix_web::test]
async fn resolved_alerts_are_deleted_after_their_retention() {
    let fixture = Fixture::with(builder().config("[alerts]\nretention = '2d'\n")).await;
    fixture.run_schedules().await;
    let first = fixture.assign("06T08", "06T12").await;
    fixture.assign("06T11", "06T15").await;
    fixture.read(&fixture.d.token, &fixture.only().await).await;
    fixture.remove(ASSIGNMENTS, first).await;
    let count = async || fixture.app.rows("select id from alerts_alerts").await.len();

    fixture.app.advance(Duration::days(1));
    fixture.run_schedules().await;
    assert_eq!(count().await, 1);
    fixture.app.advance(Duration::days(2));
    fixture.run_schedules().await;

    assert_eq!(count().await, 0);
    assert_eq!(fixture.app.rows("select id from alerts_reads").await.len(), 0);
}

#[actix_web::test]
async fn a_further_window_of_a_series_opens_an_alert() {
    let mut fixture = Fixture::with(builder().config("[calendar]\nhorizon = \"30d\"\n")).await;
    let series = json!({"resourceType": "equipment", "resourceId": fixture.e1, "startDate": "2026-01-05",
        "endDateExclusive": "2026-01-06", "reasonCode": "inspection", "rrule": "FREQ=WEEKLY"});
    fixture.create("/calendar/availability-series", series).await;
    let mut assignment = fixture.at(fixture.s1, "06T08", "06T12");
    assignment["startAt"] = json!("2026-02-09T08:00:00Z");
    assignment["endAt"] = json!("2026-02-09T12:00:00Z");
    let assignment = fixture.create(ASSIGNMENTS, assignment).await;
    assert!(fixture.conflicts().await.is_empty());

    fixture.app.advance(Duration::days(30));
    extend_series(&fixture).await;

    fixture.d.token = login(&fixture.app, "d@alpha.test").await;
    let alert = fixture.only().await;
    assert_eq!(
        (&alert["kind"], assignments(&alert)),
        (&json!("subject_unavailable"), vec![assignment])
    );
    let notifications = fixture.notifications(&fixture.d.token).await;
    assert_eq!(notifications[0]["type"], "alerts.alert.opened");
    fixture.assert_no_difference().await;
}
