//! Critical conflicts: what `check` reports, what `rejectConflicts` rejects, what `hasConflicts` finds.

use backoffice_test_support::Duration;
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, BULK, CHECK, Fixture, JOB_SITES, RESOURCES, builder, codes};

fn rejecting(path: &str) -> String {
    format!("{path}?rejectConflicts=true")
}

async fn check(fixture: &Fixture, body: Value) -> Vec<Value> {
    let (status, checked) = fixture.post(CHECK, body).await;
    assert_eq!(status, 200, "{checked}");
    checked["conflicts"].as_array().expect("conflicts").clone()
}

#[actix_web::test]
async fn dsp_17_an_overlap_on_one_site_is_reported_and_rejected() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;

    let found = check(&fixture, fixture.at("11:00", "15:00")).await;
    let (status, rejection) = fixture
        .post(&rejecting(ASSIGNMENTS), fixture.at("11:00", "15:00"))
        .await;

    assert_eq!(
        found,
        [
            json!({"kind": "subject_overlap_same_site", "urgency": "critical", "assignmentIds": [first], "windowIds": [],
            "jobSites": [{"id": fixture.s1, "name": "S1"}]})
        ]
    );
    assert_eq!(
        (status, rejection),
        (
            409,
            json!({"code": "assignment_conflict", "error": "The assignment is in conflict with others",
                "conflictingAssignmentIds": [first], "unavailabilityWindowIds": []})
        )
    );
    assert_eq!(fixture.app.count("dispatch_assignments").await, 1);
    // Without the parameter, the conflict is stored.
    fixture.assign("11:00", "15:00").await;
}

#[actix_web::test]
async fn an_overlap_on_two_sites_names_both_by_name() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;
    let mut body = fixture.at("10:00", "11:00");
    body["jobSiteId"] = json!(fixture.s2);

    let found = check(&fixture, body).await;

    assert_eq!(
        found,
        [
            json!({"kind": "subject_overlap_different_sites", "urgency": "critical", "assignmentIds": [first], "windowIds": [],
            "jobSites": [{"id": fixture.s1, "name": "S1"}, {"id": fixture.s2, "name": "S2"}]})
        ]
    );
}

#[actix_web::test]
async fn dsp_18_touching_ends_do_not_meet() {
    let fixture = Fixture::new().await;
    fixture.assign("08:00", "12:00").await;

    assert_eq!(check(&fixture, fixture.at("12:00", "16:00")).await, Vec::<Value>::new());
    let (status, body) = fixture
        .post(&rejecting(ASSIGNMENTS), fixture.at("12:00", "16:00"))
        .await;
    assert_eq!(status, 201, "{body}");
}

#[actix_web::test]
async fn dsp_19_the_hour_that_occurs_twice_is_two_hours() {
    let fixture = Fixture::new().await;
    let body = |from: &str, to: &str| json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startAt": from, "endAt": to});
    fixture
        .create(
            ASSIGNMENTS,
            body("2026-10-25T02:30:00+02:00", "2026-10-25T02:45:00+02:00"),
        )
        .await;

    let (status, written) = fixture
        .post(
            &rejecting(ASSIGNMENTS),
            body("2026-10-25T02:30:00+01:00", "2026-10-25T02:45:00+01:00"),
        )
        .await;

    assert_eq!(status, 201, "{written}");
}

#[actix_web::test]
async fn dsp_23_a_window_of_the_subject_is_a_conflict_until_it_ends() {
    let fixture = Fixture::new().await;
    let window = fixture.window("2026-01-11T23:00:00Z", "2026-01-13T23:00:00Z").await;
    let body = |from: &str, to: &str| json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startAt": from, "endAt": to});
    let during = body("2026-01-13T22:30:00Z", "2026-01-13T23:30:00Z");

    let found = check(&fixture, during.clone()).await;
    let (status, rejection) = fixture.post(&rejecting(ASSIGNMENTS), during).await;
    let after = fixture
        .post(
            &rejecting(ASSIGNMENTS),
            body("2026-01-13T23:00:00Z", "2026-01-14T02:00:00Z"),
        )
        .await;

    assert_eq!(
        found,
        [
            json!({"kind": "subject_unavailable", "urgency": "critical", "assignmentIds": [], "windowIds": [window],
            "jobSites": [{"id": fixture.s1, "name": "S1"}]})
        ]
    );
    assert_eq!((status, &rejection["unavailabilityWindowIds"]), (409, &json!([window])));
    assert_eq!(after.0, 201, "{}", after.1);
}

#[actix_web::test]
async fn assignments_that_are_not_live_are_no_conflict() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;
    let mut cancelled = fixture.at("08:00", "12:00");
    cancelled["status"] = json!("cancelled");

    assert_eq!(check(&fixture, cancelled.clone()).await, Vec::<Value>::new());
    assert_eq!(fixture.post(&rejecting(ASSIGNMENTS), cancelled).await.0, 201);
    fixture.put(ASSIGNMENTS, first, json!({"status": "completed"})).await;
    assert_eq!(
        fixture
            .post(&rejecting(ASSIGNMENTS), fixture.at("08:00", "12:00"))
            .await
            .0,
        201
    );
}

#[actix_web::test]
async fn an_update_is_checked_without_its_own_assignment() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;
    let second = fixture.assign("12:00", "14:00").await;
    let mut body = fixture.at("08:00", "11:00");
    body["id"] = json!(first);

    assert_eq!(check(&fixture, body).await, Vec::<Value>::new());
    let one = format!("{ASSIGNMENTS}/{first}?rejectConflicts=1");
    let shorter = json!({"endAt": "2026-01-06T11:00:00Z"});
    assert_eq!(fixture.app.put(&fixture.a.token, &one, shorter).await.0, 200);
    let longer = json!({"endAt": "2026-01-06T12:30:00Z"});
    let (status, rejection) = fixture.app.put(&fixture.a.token, &one, longer).await;
    assert_eq!(
        (status, &rejection["conflictingAssignmentIds"]),
        (409, &json!([second]))
    );
    assert_eq!(
        fixture.item(ASSIGNMENTS, first).await["endAt"],
        "2026-01-06T11:00:00.000Z"
    );
}

#[actix_web::test]
async fn an_invalid_flag_is_a_fault_of_the_query() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;
    let new = fixture.at("14:00", "16:00");

    for value in ["x", "TRUE", "yes", ""] {
        let path = |path: &str| format!("{path}?rejectConflicts={value}");
        let one = path(&format!("{ASSIGNMENTS}/{first}"));
        for (status, rejection) in [
            fixture.post(&path(ASSIGNMENTS), new.clone()).await,
            fixture.post(&path(BULK), json!({"items": [new]})).await,
            fixture.app.put(&fixture.a.token, &one, json!({})).await,
        ] {
            assert_eq!(
                (status, codes(&rejection)),
                (400, ("invalid_query", vec![("rejectConflicts", "invalid_value")])),
                "{value}: {rejection}"
            );
        }
    }
    let path = format!("{ASSIGNMENTS}?rejectConflicts=x");
    for (field, value, code) in [
        ("note", json!([7]), "invalid_body"),
        ("status", json!("done"), "invalid_status"),
    ] {
        let mut body = new.clone();
        body[field] = value;
        let (status, rejection) = fixture.post(&path, body).await;
        let (reported, rules) = codes(&rejection);
        let mut paths: Vec<&str> = rules.into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        let mut expected = vec![field, "rejectConflicts"];
        expected.sort_unstable();
        assert_eq!((status, reported, paths), (400, code, expected), "{rejection}");
    }
    assert_eq!(fixture.app.count("dispatch_assignments").await, 1);
}

#[actix_web::test]
async fn an_overlap_names_all_assignments_of_the_alert_that_it_would_join() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;
    let mut elsewhere = fixture.at("11:00", "15:00");
    elsewhere["jobSiteId"] = json!(fixture.s2);
    let second = fixture.create(ASSIGNMENTS, elsewhere).await;
    let third = fixture.assign("15:00", "16:00").await;
    let overlap = |kind: &str, ids: &[Uuid], sites: &[(Uuid, &str)]| {
        let sites: Vec<Value> = sites.iter().map(|(id, name)| json!({"id": id, "name": name})).collect();
        json!({"kind": kind, "urgency": "critical", "assignmentIds": ids, "windowIds": [], "jobSites": sites})
    };
    let (s1, s2) = ((fixture.s1, "S1"), (fixture.s2, "S2"));
    let with_id = |id: Uuid, mut body: Value| {
        body["id"] = json!(id);
        body
    };

    let early = check(&fixture, fixture.at("07:00", "09:00")).await;
    let between = check(&fixture, fixture.at("14:00", "15:30")).await;
    let late = check(&fixture, fixture.at("15:30", "17:00")).await;
    // The assignment that is left out connects no others.
    let without_second = check(&fixture, with_id(second, fixture.at("07:00", "09:00"))).await;
    let without_first = check(&fixture, with_id(first, fixture.at("07:00", "09:00"))).await;

    let different = "subject_overlap_different_sites";
    let same = "subject_overlap_same_site";
    assert_eq!(early, [overlap(different, &[first, second], &[s1, s2])]);
    assert_eq!(between, [overlap(different, &[first, second, third], &[s1, s2])]);
    assert_eq!(late, [overlap(same, &[third], &[s1])]);
    assert_eq!(without_second, [overlap(same, &[first], &[s1])]);
    assert_eq!(without_first, Vec::<Value>::new());
    // Only assignments that overlap the rejected one itself prevent it.
    let (status, rejection) = fixture
        .post(&rejecting(ASSIGNMENTS), fixture.at("07:00", "09:00"))
        .await;
    assert_eq!((status, &rejection["conflictingAssignmentIds"]), (409, &json!([first])));
}

#[actix_web::test]
async fn the_statements_of_a_check_do_not_depend_on_the_length_of_the_chain() {
    let fixture = Fixture::of(builder().through_proxy()).await;
    let start = fixture.app.now();
    let link = |day: i64| {
        json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1,
            "startAt": start.after(Duration::hours(24 * day + 1)), "endAt": start.after(Duration::hours(24 * day + 26))})
    };
    let mut chain: Vec<Uuid> = Vec::new();
    let mut statements = Vec::new();
    for days in [0..1, 1..60] {
        let items: Vec<Value> = days.map(link).collect();
        let (status, written) = fixture.post(BULK, json!({ "items": items })).await;
        assert_eq!(status, 201, "{written}");
        chain.extend(serde_json::from_value::<Vec<Uuid>>(written["ids"].clone()).expect("ids"));

        let run = async || {
            let found = check(&fixture, link(0)).await;
            assert_eq!(found[0]["assignmentIds"], json!(chain));
        };
        statements.push(fixture.app.fewest_statements(run).await);
    }
    assert_eq!(statements[0], statements[1]);
}

#[actix_web::test]
async fn dsp_25_warnings_about_the_site_and_the_subject_reject_nothing() {
    let fixture = Fixture::new().await;
    let closed = json!({"name": "Closed", "status": "closed"});
    let closed = fixture.create(JOB_SITES, closed).await;
    let bounded = json!({"name": "January", "startDate": "2026-01-07", "endDateExclusive": "2026-02-01"});
    let bounded = fixture.create(JOB_SITES, bounded).await;
    fixture.put(RESOURCES, fixture.e1, json!({"isActive": false})).await;
    let kinds = async |site: Uuid, from: &str, to: &str| {
        let body = json!({"jobSiteId": site, "subjectType": "equipment", "subjectId": fixture.e1, "startAt": from, "endAt": to});
        let found = check(&fixture, body).await;
        found
            .iter()
            .map(|one| one["kind"].as_str().expect("a kind").to_owned())
            .collect::<Vec<_>>()
    };

    let on_closed = kinds(closed, "2026-01-06T08:00:00Z", "2026-01-06T09:00:00Z").await;
    // 2026-01-06T23:00Z is midnight of the first day in Warsaw.
    let before = kinds(bounded, "2026-01-06T22:59:00Z", "2026-01-07T09:00:00Z").await;
    let first_day = kinds(bounded, "2026-01-06T23:00:00Z", "2026-01-07T09:00:00Z").await;
    let saturday = kinds(fixture.s1, "2026-01-10T08:00:00Z", "2026-01-10T09:00:00Z").await;
    let friday_night = kinds(fixture.s1, "2026-01-09T22:00:00Z", "2026-01-09T23:30:00Z").await;

    assert_eq!(on_closed, ["subject_inactive", "job_site_closed"]);
    assert_eq!(before, ["subject_inactive", "job_site_closed"]);
    assert_eq!(first_day, ["subject_inactive"]);
    assert_eq!(saturday, ["subject_inactive", "non_working_day"]);
    assert_eq!(friday_night, ["subject_inactive"]);
}

#[actix_web::test]
async fn a_check_validates_like_a_write_and_stores_nothing() {
    let fixture = Fixture::new().await;
    let before = fixture.app.snapshot().await;

    for (field, value, code) in [
        ("jobSiteId", json!(Uuid::from_u128(1)), "job_site_not_found"),
        ("subjectId", json!(Uuid::from_u128(1)), "subject_not_found"),
        ("endAt", json!("2026-01-06T08:00:00Z"), "invalid_interval"),
    ] {
        let mut body = fixture.at("08:00", "12:00");
        body[field] = value;
        let (status, rejection) = fixture.post(CHECK, body).await;
        assert_eq!((status, codes(&rejection)), (400, (code, vec![(field, code)])));
    }
    check(&fixture, fixture.at("08:00", "12:00")).await;

    assert!(
        before == fixture.app.snapshot().await,
        "a check has changed the database"
    );
}

#[actix_web::test]
async fn a_list_finds_assignments_in_conflict() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "12:00").await;
    let second = fixture.assign("11:00", "13:00").await;
    let third = fixture.assign("13:00", "14:00").await;
    let fourth = fixture.assign("20:00", "21:00").await;
    fixture.window("2026-01-06T20:30:00Z", "2026-01-07T23:00:00Z").await;
    let list =
        |has: &str| format!("{ASSIGNMENTS}?from=2026-01-06T00:00:00Z&to=2026-01-07T00:00:00Z&hasConflicts={has}");

    assert_eq!(fixture.listed(&list("true")).await, [first, second, fourth]);
    assert_eq!(fixture.listed(&list("0")).await, [third]);
}

#[actix_web::test]
async fn dsp_30_of_twenty_parallel_writers_that_reject_conflicts_one_wins() {
    let fixture = Fixture::new().await;
    let path = rejecting(ASSIGNMENTS);
    let write = || fixture.post(&path, fixture.at("08:00", "12:00"));

    let written = join_all((0..20).map(|_| write())).await;

    let mut statuses: Vec<u16> = written.iter().map(|(status, _)| *status).collect();
    statuses.sort_unstable();
    let mut expected = vec![409; 20];
    expected[0] = 201;
    assert_eq!(statuses, expected);
    assert_eq!(fixture.app.count("dispatch_assignments").await, 1);
}

#[actix_web::test]
async fn a_bulk_creation_with_a_conflict_stores_nothing() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "09:00").await;
    let items = json!({"items": [fixture.at("10:00", "11:00"), fixture.at("08:30", "09:30")]});
    let among_themselves = json!({"items": [fixture.at("14:00", "16:00"), fixture.at("15:00", "17:00")]});

    let (status, rejection) = fixture.post(&rejecting(BULK), items).await;
    assert_eq!((status, &rejection["conflictingAssignmentIds"]), (409, &json!([first])));
    let (status, rejection) = fixture.post(&rejecting(BULK), among_themselves).await;
    assert_eq!(
        (status, rejection),
        (
            409,
            json!({"code": "assignment_conflict", "error": "The assignment is in conflict with others",
                "conflictingAssignmentIds": [], "unavailabilityWindowIds": []})
        )
    );

    assert_eq!(fixture.app.count("dispatch_assignments").await, 1);
}
