//! Work that is deferred to the end of a transaction.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::Fixture;

/// Returns the things of each run of the deferred work, in the order of the commits.
async fn runs(fixture: &Fixture) -> Vec<Value> {
    let sql =
        "select payload -> 'things' as things from core_outbox_events where name = 'sample.count.changed' order by seq";
    let rows = fixture.app.rows(sql).await;
    rows.into_iter().map(|row| row["things"].clone()).collect()
}

async fn number(fixture: &Fixture, id: Uuid, number: i32) -> u16 {
    let body = json!({"id": id, "number": number});
    fixture.app.put("anna", "/sample/things", body).await.0
}

#[actix_web::test]
async fn it_runs_once_for_a_command_an_undo_and_a_redo() {
    let fixture = Fixture::new().await;
    let rights = ["sample.thing.manage", "audit_logs.*"];
    fixture.people().set("anna", fixture.a.0, &rights, None);
    let thing = fixture.things(1, &[]).await[0];
    let body = json!({"id": thing, "number": 1});
    let response = fixture.app.send("anna", Method::PUT, "/sample/things", body).await;

    let (status, _) = fixture.app.undo("anna", &response).await;

    let (again, _) = fixture.app.redo("anna", &response).await;
    assert_eq!((status, again), (200, 200));
    assert_eq!(runs(&fixture).await, [json!([thing]), json!([thing]), json!([thing])]);
}

#[actix_web::test]
async fn it_does_not_run_for_a_command_that_changes_nothing() {
    let fixture = Fixture::new().await;
    let thing = fixture.things(1, &[]).await[0];

    assert_eq!(number(&fixture, thing, 0).await, 200);

    assert_eq!(runs(&fixture).await, [] as [Value; 0]);
}

#[actix_web::test]
async fn it_runs_once_for_a_chunk_and_its_events_are_kept() {
    let fixture = Fixture::new().await;
    let things = fixture.things(150, &[(3, "third")]).await;

    fixture.start(&things, 7).await;
    fixture.app.run_jobs().await;

    let runs = runs(&fixture).await;
    let counted: Vec<&str> = runs
        .iter()
        .flat_map(|run| run.as_array().expect("things"))
        .filter_map(Value::as_str)
        .collect();
    let mut expected: Vec<String> = things.iter().map(Uuid::to_string).collect();
    expected.remove(3);
    assert_eq!(counted, expected);
    assert!(runs.len() < 10, "{} runs", runs.len());
}

#[actix_web::test]
async fn its_rejection_rejects_the_command_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let thing = fixture.things(1, &[]).await[0];

    assert_eq!(number(&fixture, thing, 423).await, 409);

    let rows = fixture.app.rows("select number from sample_things").await;
    assert_eq!(rows, [json!({"number": 0})]);
    assert_eq!(runs(&fixture).await, [] as [Value; 0]);
}

#[actix_web::test]
async fn its_rejection_fails_the_items_of_a_chunk_one_by_one() {
    let fixture = Fixture::new().await;
    let things = fixture.things(3, &[]).await;

    let job = fixture.start(&things, 423).await;
    fixture.app.run_jobs().await;

    let failed = json!({"state": "failed", "status": 409, "code": "conflict"});
    assert_eq!(fixture.items(job).await, [failed.clone(), failed.clone(), failed]);
    assert_eq!(runs(&fixture).await, [] as [Value; 0]);
}
