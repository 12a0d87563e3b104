//! Many assignments at once: creation of all or none, and changes in the background.

use actix_web::http::Method;
use backoffice_test_support::UndoableWrite;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{ASSIGNMENTS, BULK, Fixture, JOB_SITES, builder, codes};

const UPDATE: &str = "/dispatch/assignments/bulk-update";
const WEEK: &str = "/dispatch/assignments?from=2026-01-05T00:00:00Z&to=2026-01-12T00:00:00Z&pageSize=100";

async fn run(fixture: &Fixture, body: Value) -> Value {
    let (status, started) = fixture.post(UPDATE, body).await;
    assert_eq!(status, 201, "{started}");
    fixture.app.run_jobs().await;
    let id = started["progressJobId"].as_str().expect("an id");
    fixture.get(&format!("/progress/jobs/{id}")).await
}

#[actix_web::test]
async fn assignments_are_created_together_and_undone_together() {
    let fixture = Fixture::new().await;
    let items =
        json!({"items": [fixture.at("08:00", "09:00"), fixture.at("10:00", "11:00"), fixture.at("12:00", "13:00")]});

    let response = fixture.app.send(&fixture.a.token, Method::POST, BULK, items).await;

    assert_eq!(response.status, 201, "{}", response.text());
    let written = response.json();
    assert_eq!(json!(fixture.listed(WEEK).await), written["ids"]);
    assert_eq!(written["alertIds"], json!([]));
    let undone = fixture.app.undo(&fixture.a.token, &response).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(fixture.listed(WEEK).await, Vec::<Uuid>::new());
    let (status, redone) = fixture.app.redo(&fixture.a.token, &response).await;
    assert_eq!(status, 200, "{redone}");
    assert_eq!(json!(fixture.listed(WEEK).await), written["ids"]);
}

#[actix_web::test]
async fn dsp_30_one_bad_item_of_five_hundred_stores_nothing() {
    let fixture = Fixture::new().await;
    let mut items = vec![fixture.at("08:00", "09:00"); 500];
    items[499]["jobSiteId"] = json!(Uuid::from_u128(1));

    let (status, rejection) = fixture.post(BULK, json!({ "items": items })).await;
    let expected = vec![("items[499].jobSiteId", "job_site_not_found")];
    assert_eq!((status, codes(&rejection)), (400, ("job_site_not_found", expected)));
    items[7] = json!({"jobSiteId": fixture.s1});
    let (_, rejection) = fixture.post(BULK, json!({ "items": items })).await;
    assert_eq!(codes(&rejection).1[0], ("items[7].subjectType", "required"));
    assert_eq!(fixture.app.count("dispatch_assignments").await, 0);

    items[499] = fixture.at("08:00", "09:00");
    items[7] = fixture.at("08:00", "09:00");
    assert_eq!(fixture.post(BULK, json!({ "items": items })).await.0, 201);
    assert_eq!(fixture.app.count("dispatch_assignments").await, 500);
    for items in [Vec::new(), vec![fixture.at("08:00", "09:00"); 501]] {
        let (status, rejection) = fixture.post(BULK, json!({ "items": items })).await;
        assert_eq!((status, codes(&rejection).0), (400, "invalid_body"));
    }
}

#[actix_web::test]
async fn the_statements_of_a_creation_do_not_depend_on_its_size() {
    let fixture = Fixture::of(builder().through_proxy()).await;
    let create = |count: usize| {
        let items = vec![fixture.at("08:00", "09:00"); count];
        fixture
            .app
            .count_statements(fixture.post(BULK, json!({ "items": items })))
    };
    create(2).await;

    let ((status, _), few) = create(3).await;
    let (_, many) = create(300).await;

    assert_eq!(status, 201);
    assert_eq!(few, many);
}

#[actix_web::test]
async fn dsp_37_assignments_move_in_the_background_except_those_of_other_organizations() {
    let fixture = Fixture::new().await;
    let items = vec![fixture.at("08:00", "09:00"); 295];
    let (_, written) = fixture.post(BULK, json!({ "items": items })).await;
    let mut ids: Vec<Uuid> = serde_json::from_value(written["ids"].clone()).expect("ids");
    let sibling = fixture.organization("Sibling", None).await;
    let copies = format!(
        "with site as (
            insert into dispatch_job_sites select tenant_id, gen_random_uuid(), '{sibling}', name, null, null, null, null, status,
                null, null, null, null, created_at, updated_at from dispatch_job_sites where id = '{}' returning id
        ), resource as (
            insert into dispatch_resources select tenant_id, gen_random_uuid(), '{sibling}', type, name, null, null, true, null,
                null, created_at, updated_at from dispatch_resources where id = '{}' returning id
        )
        insert into dispatch_assignments (tenant_id, id, organization_id, job_site_id, subject_type, subject_id, start_at, end_at,
            status, created_at, updated_at)
        select a.tenant_id, gen_random_uuid(), '{sibling}', site.id, 'equipment', resource.id, a.start_at, a.end_at, 'planned',
            a.created_at, a.updated_at
        from dispatch_assignments a, site, resource limit 5",
        fixture.s1, fixture.e1
    );
    // The foreign keys are checked at the end of the statement.
    assert_eq!(fixture.app.sql(&copies).await, 5);
    let foreign = format!("select id from dispatch_assignments where organization_id = '{sibling}'");
    for row in fixture.app.rows(&foreign).await {
        ids.push(row["id"].as_str().expect("an id").parse().expect("a UUID"));
    }
    let rights = &["dispatch.*", "progress.*", "audit_logs.*"];
    fixture.role("Own", rights, Some(&[fixture.a.organization])).await;
    let (_, token) = fixture.user("own@alpha.test", &["Own"]).await;

    let body = json!({"ids": ids, "shiftMinutes": 1440});
    let (status, started) = fixture.app.post(&token, UPDATE, body).await;
    assert_eq!(status, 201, "{started}");
    fixture.app.run_jobs().await;

    let path = format!("/progress/jobs/{}", started["progressJobId"].as_str().expect("an id"));
    let (_, job) = fixture.app.get(&token, &path).await;
    assert_eq!(
        (&job["succeededCount"], &job["failedCount"]),
        (&json!(295), &json!(5)),
        "{job}"
    );
    let moved = "dispatch_assignments where start_at = '2026-01-07T08:00:00Z' and end_at = '2026-01-07T09:00:00Z'";
    assert_eq!(fixture.app.count(moved).await, 295);

    let path = format!("/audit_logs/audit-logs/actions?resourceId={}&pageSize=1", ids[0]);
    let entries = fixture.app.read(&token, &path).await;
    let latest = UndoableWrite::from_entry(&entries["items"][0]);
    let (status, undone) = fixture.app.undo(&token, latest).await;
    assert_eq!(status, 200, "{undone}");
    assert_eq!(fixture.app.count(moved).await, 294);
    assert_eq!(
        fixture.item(ASSIGNMENTS, ids[0]).await["startAt"],
        "2026-01-06T08:00:00.000Z"
    );
}

#[actix_web::test]
async fn status_and_site_change_in_the_background() {
    let fixture = Fixture::new().await;
    let first = fixture.assign("08:00", "09:00").await;
    let second = fixture.assign("10:00", "11:00").await;

    let body = json!({"ids": [first, second, first], "status": "confirmed", "jobSiteId": fixture.s2});
    let job = run(&fixture, body).await;

    assert_eq!(
        (&job["status"], &job["succeededCount"]),
        (&json!("completed"), &json!(2))
    );
    let item = fixture.item(ASSIGNMENTS, second).await;
    assert_eq!(
        (&item["status"], &item["jobSiteId"]),
        (&json!("confirmed"), &json!(fixture.s2))
    );
    let again = run(&fixture, json!({"ids": [first], "status": "confirmed"})).await;
    assert_eq!(again["skippedCount"], 1);
}

#[actix_web::test]
async fn dates_stay_dates_if_they_move_by_whole_days() {
    let fixture = Fixture::new().await;
    let body = json!({"jobSiteId": fixture.s1, "subjectType": "equipment", "subjectId": fixture.e1, "startDate": "2026-03-28",
        "endDateExclusive": "2026-03-29"});
    let days = fixture.create(ASSIGNMENTS, body.clone()).await;
    let hours = fixture.create(ASSIGNMENTS, body).await;

    run(&fixture, json!({"ids": [days], "shiftMinutes": 1440})).await;
    run(&fixture, json!({"ids": [hours], "shiftMinutes": -60})).await;

    let item = fixture.item(ASSIGNMENTS, days).await;
    assert_eq!(
        (&item["startDate"], &item["startAt"], &item["endAt"]),
        (
            &json!("2026-03-29"),
            &json!("2026-03-28T23:00:00.000Z"),
            &json!("2026-03-29T22:00:00.000Z")
        )
    );
    let item = fixture.item(ASSIGNMENTS, hours).await;
    assert_eq!(
        (&item["startDate"], &item["startAt"]),
        (&Value::Null, &json!("2026-03-27T22:00:00.000Z"))
    );
}

#[actix_web::test]
async fn an_assignment_of_a_deleted_job_site_that_has_ended_does_not_move_into_the_future() {
    let fixture = Fixture::new().await;
    let mut body = fixture.at("08:00", "09:00");
    body["jobSiteId"] = json!(fixture.s2);
    body["startAt"] = json!("2026-01-05T06:00:00Z");
    body["endAt"] = json!("2026-01-05T07:00:00Z");
    let ended = fixture.create(ASSIGNMENTS, body).await;
    let live = fixture.assign("08:00", "09:00").await;
    assert_eq!(fixture.remove(JOB_SITES, fixture.s2).await.0, 200);

    let job = run(&fixture, json!({"ids": [ended, live], "shiftMinutes": 1440})).await;

    assert_eq!(
        (&job["succeededCount"], &job["failedCount"]),
        (&json!(1), &json!(1)),
        "{job}"
    );
    let start = async |id: Uuid| fixture.item(ASSIGNMENTS, id).await["startAt"].clone();
    assert_eq!(start(ended).await, "2026-01-05T06:00:00.000Z");
    assert_eq!(start(live).await, "2026-01-07T08:00:00.000Z");
}

#[actix_web::test]
async fn an_invalid_request_starts_no_job() {
    let fixture = Fixture::new().await;
    let id = fixture.assign("08:00", "09:00").await;
    let closed = fixture
        .create(JOB_SITES, json!({"name": "Closed", "status": "closed"}))
        .await;
    let cases = [
        (json!({"ids": [id]}), "invalid_body"),
        (json!({"ids": [], "status": "planned"}), "invalid_body"),
        (json!({"ids": [id], "status": "done"}), "invalid_status"),
        (json!({"ids": [id], "status": null}), "invalid_status"),
        (json!({"ids": [id], "shiftMinutes": 527_041}), "invalid_body"),
        (
            json!({"ids": [id], "jobSiteId": Uuid::from_u128(1)}),
            "job_site_not_found",
        ),
        (json!({"ids": [id], "jobSiteId": closed}), "job_site_closed"),
    ];
    for (body, code) in cases {
        let (status, rejection) = fixture.post(UPDATE, body.clone()).await;

        assert_eq!((status, codes(&rejection).0), (400, code), "{body}: {rejection}");
    }
    let all = json!({"ids": [], "status": 7, "shiftMinutes": 527_041});
    let (status, rejection) = fixture.post(UPDATE, all).await;
    let mut paths: Vec<&str> = codes(&rejection).1.into_iter().map(|(path, _)| path).collect();
    paths.sort_unstable();
    assert_eq!((status, paths), (400, vec!["ids", "shiftMinutes", "status"]));
    assert_eq!(fixture.app.count("progress_jobs").await, 0);
}
