//! A bulk job from its request to its end.

use backoffice_test_support::UndoableWrite;
use serde_json::{Value, json};

use crate::fixture::{Fixture, JOBS, builder};
use crate::people::person;

const ACTIONS: &str = "/audit_logs/audit-logs/actions";

#[actix_web::test]
async fn crm_1_every_item_is_done_once_with_an_entry_of_the_requester() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(250, &[]).await;

    let (status, response) = fixture.ask("anna", &ids, 7).await;
    let expected = json!({"ok": true, "progressJobId": response["progressJobId"], "message": "250 things will be numbered", "totalCount": 250});
    assert_eq!((status, &response), (201, &expected));
    assert_eq!(fixture.app.run_jobs().await, 1);

    let job = crate::fixture::id_of(&response["progressJobId"]);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed"), json!([250, 250, 250, 0, 0]))
    );
    assert_eq!(fixture.numbers(&ids).await, vec![7; 250]);
    let entries = fixture.entries().await;
    assert_eq!(entries.len(), 250);
    for (entry, id) in entries.iter().zip(&ids) {
        assert_eq!(entry["resource_id"], json!(id));
        assert_eq!(
            (&entry["actor_id"], &entry["actor_name"]),
            (&json!(person("anna")), &json!("Name of anna"))
        );
        assert_eq!(
            (&entry["source"], &entry["action_type"]),
            (&json!("job"), &json!("edit"))
        );
        assert_eq!(entry["context"]["progressJobId"], json!(job));
        assert_eq!(entry["related"], json!([format!("progress.job:{job}")]));
        assert_eq!(entry["changes"], json!({"number": {"from": 0, "to": 7}}));
    }
    let logged = format!("select log_id from progress_job_items where job_id = '{job}' order by position");
    let logged = fixture.app.rows(&logged).await;
    assert!(
        logged
            .iter()
            .zip(&entries)
            .all(|(item, entry)| item["log_id"] == entry["id"])
    );
    assert_eq!(fixture.app.run_jobs().await, 0, "the queue has nothing left");
    let left = fixture.app.rows("select state, cursor from core_jobs").await;
    assert_eq!(left, [json!({"state": "done", "cursor": 200})]);
}

#[actix_web::test]
async fn crm_7_only_the_requester_undoes_an_item() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;
    let (_, log) = fixture
        .app
        .get(
            "anna",
            &format!("{ACTIONS}?resourceKind=progress.job&resourceId={job}&includeRelated=true"),
        )
        .await;
    let tokens: Vec<Value> = log["items"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|one| one["undoToken"].clone())
        .collect();
    assert_eq!(tokens.len(), 4, "the request and three items: {log}");
    let write_of = |id: &uuid::Uuid| {
        let entries = log["items"].as_array().expect("entries");
        let entry = entries.iter().find(|one| one["resourceId"] == json!(id));
        UndoableWrite::from_entry(entry.expect("an entry"))
    };
    let undo = |token: &'static str, id| fixture.app.undo(token, write_of(id));
    assert_eq!(undo("adam", &ids[0]).await.0, 400);

    let edit = json!({"id": ids[1], "number": 9});
    assert_eq!(fixture.app.put("adam", "/sample/things", edit).await.0, 200);
    assert_eq!(undo("anna", &ids[1]).await.0, 400);
    let (status, body) = undo("anna", &ids[2]).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(fixture.numbers(&ids).await, [7, 9, 0]);
}

#[actix_web::test]
async fn an_item_that_cannot_be_undone_leaves_the_others_undoable() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[(1, "fixed")]).await;
    fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    let entries = fixture.entries().await;
    let is_undoable = |id: &uuid::Uuid| {
        let entry = entries.iter().find(|entry| entry["resource_id"] == json!(id));
        entry.expect("an entry")["undo_secret"].is_string()
    };
    assert_eq!(fixture.numbers(&ids).await, [7, 7, 7]);
    assert_eq!(ids.iter().map(is_undoable).collect::<Vec<_>>(), [true, false, true]);
}

#[actix_web::test]
async fn crm_10_what_has_the_value_already_is_skipped_without_entry_or_event() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(5, &[]).await;
    fixture.start(&ids[..2], 7).await;
    fixture.app.run_jobs().await;
    let mixed = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;
    assert_eq!(
        fixture.counts(mixed).await,
        (json!("completed"), json!([5, 5, 3, 2, 0]))
    );
    assert_eq!(fixture.entries().await.len(), 5);

    let things = fixture.app.rows("select * from sample_things order by id").await;
    let events = "select count(*) as n from core_outbox_events where name like 'sample.%'";
    let events_before = fixture.app.rows(events).await;
    let again = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    assert_eq!(
        fixture.counts(again).await,
        (json!("completed"), json!([5, 5, 0, 5, 0]))
    );
    assert_eq!(fixture.job("anna", again).await["resultSummary"]["affectedCount"], 0);
    assert_eq!(
        fixture.app.rows("select * from sample_things order by id").await,
        things
    );
    assert_eq!(
        (fixture.entries().await.len(), fixture.app.rows(events).await),
        (5, events_before)
    );
}

#[actix_web::test]
async fn repeated_ids_count_once_and_the_first_occurrence_gives_the_position() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[]).await;
    let (c, a, b) = (ids[2], ids[0], ids[1]);

    let job = fixture.start(&[c, a, c, b, a], 7).await;
    fixture.app.run_jobs().await;

    assert_eq!(fixture.counts(job).await.1, json!([3, 3, 3, 0, 0]));
    let (_, page) = fixture.app.get("anna", &format!("{JOBS}/{job}/items")).await;
    let order: Vec<&Value> = page["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|one| &one["resourceId"])
        .collect();
    assert_eq!(order, [&json!(c), &json!(a), &json!(b)]);
}

#[actix_web::test]
async fn an_operation_may_describe_its_items_and_a_job_without_items_is_completed_at_once() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(4, &[(1, "wanted"), (3, "wanted")]).await;
    let ask = async |name: &str| {
        let body = json!({"name": name, "number": 7});
        let (status, body) = fixture.app.post("anna", crate::sample::ALL, body).await;
        assert_eq!(status, 201, "{body}");
        (
            crate::fixture::id_of(&body["progressJobId"]),
            body["totalCount"].clone(),
        )
    };

    let (some, total) = ask("wanted").await;
    fixture.app.run_jobs().await;
    let (none, nothing) = ask("nobody").await;

    assert_eq!((total, nothing), (json!(2), json!(0)));
    assert_eq!(fixture.numbers(&ids).await, [0, 7, 0, 7]);
    assert_eq!(fixture.counts(some).await, (json!("completed"), json!([2, 2, 2, 0, 0])));
    let job = fixture.job("anna", none).await;
    assert_eq!(
        (&job["status"], &job["progressPercent"]),
        (&json!("completed"), &json!(100))
    );
    assert!(job["startedAt"].is_string() && job["finishedAt"].is_string(), "{job}");
    assert_eq!(fixture.app.run_jobs().await, 0, "nothing was queued");
}

#[actix_web::test]
async fn crm_16_a_chunk_costs_as_many_statements_for_many_items_as_for_one() {
    let fixture = Fixture::of(builder().through_proxy().pool_size(1)).await;
    let ids = fixture.things(103, &[]).await;
    let mut counts = Vec::new();

    // The first two rounds prepare statements that a connection prepares once.
    for (number, many) in [(1, 100), (2, 1), (3, 1), (4, 100)] {
        fixture.start(&ids[..many], number).await;
        let (_, statements) = fixture.app.count_statements(fixture.app.run_jobs()).await;
        counts.push(statements);
    }

    assert_eq!(counts[2], counts[3], "{counts:?}");
    assert!(counts[3] <= 40, "{counts:?}");
}

#[actix_web::test]
async fn the_requester_receives_an_event_for_each_stage() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(150, &[]).await;

    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    let sql = "select name, payload, browser, feature, audience_id, organization_id from core_outbox_events
               where name like 'progress.%' order by seq";
    let events = fixture.app.rows(sql).await;
    let names: Vec<&str> = events.iter().map(|one| one["name"].as_str().expect("a name")).collect();
    assert_eq!(
        names,
        [
            "progress.job.created",
            "progress.job.started",
            "progress.job.updated",
            "progress.job.completed"
        ]
    );
    for event in &events {
        assert_eq!(
            (&event["browser"], &event["feature"]),
            (&json!(true), &json!("progress.view_tenant"))
        );
        assert_eq!(event["audience_id"], json!(person("anna")));
        assert_eq!(event["payload"]["id"], json!(job));
    }
    assert_eq!(events[2]["payload"]["processedCount"], 100);
    assert_eq!(events[3]["payload"]["status"], "completed");
    assert_eq!(events[3]["payload"]["succeededCount"], 150);
}
