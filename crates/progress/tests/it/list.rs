//! Lists of jobs and of their items.

use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, JOBS, id_of};
use crate::people::person;

fn ids(page: &Value, field: &str) -> Vec<Uuid> {
    let items = page[field].as_array().unwrap_or_else(|| panic!("{page}"));
    items.iter().map(|item| id_of(&item["id"])).collect()
}

async fn listed(fixture: &Fixture, query: &str) -> Vec<Uuid> {
    let (status, page) = fixture.app.get("anna", &format!("{JOBS}?{query}")).await;
    assert_eq!(status, 200, "{query}: {page}");
    ids(&page, "items")
}

/// Creates jobs a minute apart: a completed, a partly failed, a cancelled and a pending one.
async fn four(fixture: &Fixture) -> [Uuid; 4] {
    let things = fixture.things(3, &[(0, "third")]).await;
    let mut jobs = Vec::new();
    for end in ["run", "run_all", "cancel", "wait"] {
        fixture.app.advance(Duration::minutes(1));
        let items = if end == "run_all" { &things[..] } else { &things[1..] };
        let job = fixture.start(items, i32::try_from(jobs.len()).expect("few") + 1).await;
        jobs.push(job);
        match end {
            "cancel" => assert_eq!(fixture.cancel("anna", job).await.0, 200),
            "wait" => {}
            _ => assert_eq!(fixture.app.run_jobs().await, 1),
        }
    }
    jobs.try_into().expect("four")
}

#[actix_web::test]
async fn a_job_is_shown_with_all_its_fields() {
    let fixture = Fixture::new().await;
    let things = fixture.things(250, &[(0, "third")]).await;
    let asked = fixture.app.now();
    let job = fixture.start(&things, 7).await;
    fixture.app.advance(Duration::seconds(5));
    let started = fixture.app.now();
    fixture.step().await;
    fixture.app.advance(Duration::seconds(10));
    fixture.step().await;
    let beat = fixture.app.now();

    let shown = fixture.job("anna", job).await;

    let expected = json!({
        "id": job, "jobType": "sample.thing.bulk_number", "name": "Number things", "description": null, "status": "running",
        "progressPercent": 40, "totalCount": 250, "processedCount": 100, "succeededCount": 99, "skippedCount": 0,
        "failedCount": 1, "etaSeconds": 15, "cancellable": true, "cancelRequestedAt": null, "actorUserId": person("anna"),
        "actorKind": "user", "actorId": person("anna"),
        "actorUserName": "Name of anna", "tenantId": fixture.a.0, "organizationId": null, "startedAt": started.to_string(),
        "heartbeatAt": beat.to_string(), "finishedAt": null, "errorMessage": null, "meta": {"number": 7},
        "createdAt": asked.to_string(), "updatedAt": beat.to_string(),
        "resultSummary": {"affectedCount": 99, "skippedCount": 0, "failedCount": 1, "failedItems": [
            {"id": things[0], "status": 409, "code": "every_third", "message": "Not this one"}]},
    });
    assert_eq!(shown, expected);
    // The estimate belongs to the last step, as the entity tag does.
    fixture.app.advance(Duration::seconds(60));
    assert_eq!(fixture.job("anna", job).await, expected);
    let (_, page) = fixture.app.get("anna", JOBS).await;
    let mut item = expected;
    item.as_object_mut().expect("an object").remove("resultSummary");
    let expected = json!({"items": [item], "total": 1, "page": 1, "pageSize": 50, "totalPages": 1});
    assert_eq!(page, expected);
}

#[actix_web::test]
async fn filters_limit_the_list() {
    let fixture = Fixture::new().await;
    let [done, partly, cancelled, waiting] = four(&fixture).await;
    let times = fixture.app.rows("select id, created_at from progress_jobs").await;
    let time = |id: Uuid| {
        let row = times.iter().find(|row| row["id"] == json!(id)).expect("a job");
        row["created_at"].as_str().expect("a time").replace("+00:00", "Z")
    };

    assert_eq!(listed(&fixture, "").await, [waiting, cancelled, partly, done]);
    assert_eq!(listed(&fixture, "status=completed").await, [done]);
    assert_eq!(
        listed(&fixture, "status=completed_with_errors,%20pending").await,
        [waiting, partly]
    );
    assert_eq!(
        listed(&fixture, "status=pending&status=cancelled").await,
        [waiting, cancelled]
    );
    assert!(listed(&fixture, "status=").await.is_empty(), "an empty list means none");
    assert_eq!(
        listed(&fixture, "jobType=sample.thing.bulk_number&pageSize=1&page=2").await,
        [cancelled]
    );
    assert!(listed(&fixture, "jobType=other").await.is_empty());
    assert_eq!(listed(&fixture, "search=NUMBER").await.len(), 4);
    assert!(listed(&fixture, "search=%25").await.is_empty());
    assert_eq!(listed(&fixture, &format!("before={}", time(partly))).await, [done]);
    assert_eq!(
        listed(&fixture, &format!("after={}", time(partly))).await,
        [waiting, cancelled]
    );
    assert_eq!(
        listed(&fixture, "mine=true&sortDir=asc").await,
        [done, partly, cancelled, waiting]
    );
}

#[actix_web::test]
async fn each_order_is_stable_and_what_has_no_time_comes_last() {
    let fixture = Fixture::new().await;
    let [done, partly, cancelled, waiting] = four(&fixture).await;

    // Neither of these two jobs has started; ids decide between them.
    assert_eq!(
        listed(&fixture, "sortField=startedAt").await,
        [partly, done, waiting, cancelled]
    );
    assert_eq!(
        listed(&fixture, "sortField=startedAt&sortDir=asc").await,
        [done, partly, cancelled, waiting]
    );
    assert_eq!(
        listed(&fixture, "sortField=finishedAt").await,
        [cancelled, partly, done, waiting]
    );
    assert_eq!(
        listed(&fixture, "sortField=finishedAt&sortDir=asc").await,
        [done, partly, cancelled, waiting]
    );
    assert_eq!(
        listed(&fixture, "sortField=createdAt&sortDir=desc").await,
        [waiting, cancelled, partly, done]
    );
}

#[actix_web::test]
async fn malformed_filters_are_rejected() {
    let fixture = Fixture::new().await;
    let job = fixture.start(&fixture.things(1, &[]).await, 7).await;

    for query in [
        "page=0",
        "pageSize=101",
        "pageSize=x",
        "status=gone",
        "sortField=name",
        "sortDir=up",
        "before=x",
        "mine=2",
    ] {
        let (status, body) = fixture.app.get("anna", &format!("{JOBS}?{query}")).await;
        assert_eq!((status, &body["error"]), (400, &json!("Invalid input")), "{query}");
    }
    let search = format!("{JOBS}?search={}", "x".repeat(201));
    assert_eq!(fixture.app.get("anna", &search).await.0, 400);
    for query in ["page=0", "pageSize=0", "state=gone"] {
        let (status, _) = fixture.app.get("anna", &format!("{JOBS}/{job}/items?{query}")).await;
        assert_eq!(status, 400, "{query}");
    }
    for (path, expected) in [
        (
            format!("{JOBS}?mine=2&status=gone&before=x&page=0"),
            vec!["before", "mine", "page", "status"],
        ),
        (
            format!("{JOBS}/{job}/items?pageSize=x&state=gone&page=0"),
            vec!["page", "pageSize", "state"],
        ),
    ] {
        let (status, body) = fixture.app.get("anna", &path).await;
        let mut paths: Vec<&str> = details(&body).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!((status, paths), (400, expected), "{path}");
    }
    assert_eq!(fixture.app.get("anna", "/progress/active?mine=x").await.0, 400);
    for path in [JOBS, "/progress/active"] {
        assert_eq!(fixture.app.get("", path).await, (401, json!({"error": "Unauthorized"})));
    }
}

#[actix_web::test]
async fn items_are_listed_by_position() {
    let fixture = Fixture::new().await;
    let things = fixture.things(102, &[(1, "third")]).await;
    let job = fixture.start(&things, 7).await;
    fixture.step().await;
    fixture.step().await;
    let items = async |query: &str| {
        let (status, page) = fixture.app.get("anna", &format!("{JOBS}/{job}/items?{query}")).await;
        assert_eq!(status, 200, "{page}");
        page
    };

    let page = items("pageSize=2").await;
    let log = fixture.entries().await[0]["id"].clone();
    let done = json!({"position": 0, "resourceKind": "sample.thing", "resourceId": things[0], "state": "succeeded", "logId": log,
        "error": null});
    let failed = json!({"position": 1, "resourceKind": "sample.thing", "resourceId": things[1], "state": "failed", "logId": null,
        "error": {"status": 409, "code": "every_third", "message": "Not this one"}});
    let expected = json!({"items": [done, failed], "total": 102, "page": 1, "pageSize": 2, "totalPages": 51});
    assert_eq!(page, expected);
    assert_eq!(items("state=failed").await["total"], 1);
    assert_eq!(items("state=pending,failed").await["total"], 3);
    assert_eq!(items("state=pending").await["items"][1]["position"], 101);
    assert_eq!(items("state=").await["total"], 0);
}

#[actix_web::test]
async fn active_jobs_are_shown_with_recently_finished_ones() {
    let fixture = Fixture::new().await;
    let things = fixture.things(2, &[]).await;
    let active = async |token: &str, query: &str| {
        let (status, body) = fixture.app.get(token, &format!("/progress/active{query}")).await;
        assert_eq!(status, 200, "{body}");
        (ids(&body, "active"), ids(&body, "recentlyCompleted"))
    };
    let finished = fixture.start(&things, 1).await;
    fixture.app.run_jobs().await;
    fixture.app.advance(Duration::seconds(29));
    let waiting = fixture.start(&things, 2).await;
    fixture.app.advance(Duration::milliseconds(1));
    let of_adam = fixture.start_as("adam", &things, 3).await;

    assert_eq!(active("anna", "").await, (vec![waiting], vec![finished]));
    assert_eq!(active("boss", "").await, (vec![of_adam, waiting], vec![finished]));
    assert_eq!(active("boss", "?mine=true").await, (vec![], vec![]));
    assert_eq!(active("bert", "").await, (vec![], vec![]));
    fixture.app.advance(Duration::seconds(2));
    assert_eq!(active("anna", "?mine=false").await, (vec![waiting], vec![]));
}

#[actix_web::test]
async fn a_list_costs_the_same_statements_for_one_row_and_for_many() {
    let fixture = Fixture::of(crate::fixture::builder().through_proxy().pool_size(1)).await;
    let things = fixture.things(3, &[]).await;
    for number in 1..15 {
        fixture.start(&things, number).await;
    }
    let job = fixture.start(&things, 20).await;

    for path in [JOBS.to_owned(), format!("{JOBS}/{job}/items")] {
        let mut counts = Vec::new();
        for size in [1, 1, 100] {
            let path = format!("{path}?pageSize={size}");
            let ((status, _), statements) = fixture.app.count_statements(fixture.app.get("anna", &path)).await;
            assert_eq!(status, 200);
            counts.push(statements);
        }
        assert_eq!(counts[1], counts[2], "{path}");
        assert!(counts[2] <= 3, "{path}: {counts:?}");
    }
}
