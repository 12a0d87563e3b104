//! The request for a bulk job.

use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, builder, id_of};
use crate::sample::{ALL, BULK};

async fn jobs(fixture: &Fixture) -> usize {
    fixture.app.rows("select id from progress_jobs").await.len()
}

#[actix_web::test]
async fn crm_2_ids_must_be_ids_and_not_too_many() {
    let fixture = Fixture::new().await;
    let many = |count: usize| json!((0..count).map(|_| Uuid::from_u128(1)).collect::<Vec<_>>());
    let before = fixture.app.snapshot().await;

    for (body, path) in [
        (json!({"ids": [], "number": 1}), Some("ids")),
        (json!({"ids": many(10_001), "number": 1}), Some("ids")),
        (json!({"ids": ["x"], "number": 1}), None),
        (json!({"ids": many(1)}), None),
        (json!([]), None),
        (json!({"ids": many(1), "number": -1}), Some("number")),
    ] {
        let (status, response) = fixture.app.post("anna", BULK, body).await;
        assert_eq!(
            (status, &response["error"]),
            (400, &json!("Invalid input")),
            "{response}"
        );
        if let Some(path) = path {
            assert_eq!(response["details"][0]["path"], path);
        }
    }

    for ids in [json!([]), many(10_001)] {
        let (status, response) = fixture.app.post("anna", BULK, json!({"ids": ids, "number": "x"})).await;
        assert_eq!(
            (status, details(&response)),
            (400, vec![("number", "invalid_type"), ("ids", "out_of_range")])
        );
    }

    assert!(fixture.app.snapshot().await == before);
    let (status, response) = fixture
        .app
        .post("anna", BULK, json!({"ids": many(10_000), "number": 1}))
        .await;
    assert_eq!((status, &response["totalCount"]), (201, &json!(1)));
}

#[actix_web::test]
async fn crm_2_ten_thousand_items_are_one_job() {
    let fixture = Fixture::new().await;
    let ids: Vec<Uuid> = (0..10_000).map(Uuid::from_u128).collect();

    let (status, response) = fixture.ask("anna", &ids, 7).await;

    assert_eq!((status, &response["totalCount"]), (201, &json!(10_000)));
    let last = fixture
        .app
        .rows("select resource_id from progress_job_items where position = 9999")
        .await;
    assert_eq!(last[0]["resource_id"], json!(ids[9999]));
}

#[actix_web::test]
async fn more_than_ten_thousand_matches_are_too_many() {
    let fixture = Fixture::new().await;
    let sql = format!(
        "insert into sample_things select '{}', gen_random_uuid(), null, 'wanted', 0, null, now() from generate_series(1, 10001)",
        fixture.a.0
    );
    fixture.app.sql(&sql).await;

    let (status, response) = fixture
        .app
        .post("anna", ALL, json!({"name": "wanted", "number": 7}))
        .await;

    assert_eq!(
        (status, &response["code"], &response["matched"]),
        (400, &json!("too_many_items"), &json!(10_001))
    );
    assert_eq!(jobs(&fixture).await, 0);
}

#[actix_web::test]
async fn strangers_and_those_without_the_feature_are_rejected() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(1, &[]).await;

    assert_eq!(fixture.ask("", &ids, 7).await.0, 401);
    let (status, response) = fixture.ask("plain", &ids, 7).await;

    assert_eq!(
        (status, &response["requiredFeatures"]),
        (403, &json!(["sample.thing.manage"]))
    );
    assert_eq!(jobs(&fixture).await, 0);
}

#[actix_web::test]
async fn an_interceptor_of_the_bulk_command_rejects_the_whole_request() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(1, &[]).await;

    let response = fixture.ask("anna", &ids, 422).await;

    assert_eq!(response, (422, json!({"error": "Not this one"})));
    assert_eq!((jobs(&fixture).await, fixture.app.run_jobs().await), (0, 0));
}

#[actix_web::test]
async fn crm_11_the_same_key_twice_is_one_job() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[]).await;
    let body = json!({"ids": ids, "number": 7});
    let send = async |body: &Value| fixture.post_with("anna", BULK, ("Idempotency-Key", "once"), body).await;

    let first = send(&body).await;
    fixture.app.run_jobs().await;
    let second = send(&body).await;
    let other = send(&json!({"ids": ids, "number": 8})).await;

    assert_eq!((first.status, second.status, other.status), (201, 201, 422));
    assert_eq!(first.json(), second.json());
    assert_eq!(first.header("idempotency-replayed"), None);
    assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
    assert_eq!((jobs(&fixture).await, fixture.app.run_jobs().await), (1, 0));
    assert_eq!(
        fixture.counts(id_of(&first.json()["progressJobId"])).await.0,
        "completed"
    );
}

#[actix_web::test]
async fn a_tenant_has_no_more_than_so_many_unfinished_jobs() {
    let fixture = Fixture::of(builder().config("[jobs]\nmax_open_bulk = 2")).await;
    let (ids, foreign) = (fixture.things(1, &[]).await, fixture.things_of(fixture.b, 1, &[]).await);
    let first = fixture.start(&ids, 1).await;
    fixture.start_as("adam", &ids, 2).await;

    let response = fixture.ask("anna", &ids, 3).await;
    let too_many = json!({"error": "Too many unfinished bulk jobs", "code": "too_many_jobs"});
    assert_eq!(response, (409, too_many));
    assert_eq!(
        fixture.ask("bert", &foreign, 3).await.0,
        201,
        "another tenant has its own"
    );
    assert_eq!(fixture.cancel("anna", first).await.0, 200);
    assert_eq!(fixture.ask("anna", &ids, 3).await.0, 201);
}

#[actix_web::test]
async fn requests_at_the_same_time_never_exceed_the_limit() {
    let fixture = Fixture::of(builder().config("[jobs]\nmax_open_bulk = 3").pool_size(8)).await;
    let ids = fixture.things(1, &[]).await;

    let requests = (0..8).map(|number| fixture.ask("anna", &ids, number));
    let responses = futures_util::future::join_all(requests).await;

    let accepted = responses.iter().filter(|(status, _)| *status == 201).count();
    let rejected = responses.iter().filter(|(status, _)| *status == 409).count();
    assert_eq!((accepted, rejected), (3, 5));
    assert_eq!(jobs(&fixture).await, 3);
}

#[actix_web::test]
async fn the_request_is_in_the_log_and_can_not_be_undone() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(1, &[]).await;

    let job = fixture.start(&ids, 7).await;

    let sql = "select * from audit_action_logs where command_id = 'sample.thing.bulk_number'";
    let entries = fixture.app.rows(sql).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["resource_kind"], &entries[0]["resource_id"]),
        (&json!("progress.job"), &json!(job))
    );
    assert_eq!(
        (&entries[0]["source"], &entries[0]["undo_secret"]),
        (&json!("ui"), &Value::Null)
    );
}
