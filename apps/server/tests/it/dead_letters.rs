//! Dead letters on the command line.

use std::time::Duration;

use backoffice_test_support::TestDatabase;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::office::office;
use crate::support::{Folder, errors, text};

const LETTER: &str = "00000000-0000-7000-8000-000000000001";

/// Returns the statement that inserts a dead letter of a subscriber that does not exist.
fn dead_letter() -> String {
    format!(
        "insert into core_event_dead_letters
            (tenant_id, id, subscriber, event_id, seq, event, attempts, error, created_at, updated_at)
         select t, '{LETTER}', 'gone.subscriber', '{LETTER}', 1, jsonb_build_object('tenant_id', t, 'id', '{LETTER}', 'seq', 1,
            'organization_id', null, 'name', 'sample.thing.created', 'payload', '{{}}'::jsonb, 'browser', false, 'feature', null,
            'occurred_at', '2026-11-20T08:00:00.000Z'), 12, 'it does not fit', now(), now()
         from (values ('{LETTER}'::uuid)) as v (t)"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unresolved_dead_letters_are_measured() {
    let (office, database) = office().await;
    database.sql(&dead_letter()).await;

    let worker = office.work(&[]).await;

    let started = Instant::now();
    loop {
        let metrics = worker.operators("/metrics").text;
        if metrics.lines().any(|line| line == "events_dead_letters 1") {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "{metrics}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_listed_and_tried_again() {
    let database = TestDatabase::create(&backoffice_server::modules::compiled()).await;
    let folder = Folder::new();
    let url = database.application_url();
    let run = |arguments: &[&str]| {
        let arguments = [&["events", "dead-letters"], arguments].concat();
        folder.run_with(&arguments, &[("BACKOFFICE__DATABASE__URL", &url)])
    };
    text(&folder.run_with(&["init", "--generate"], &[("BACKOFFICE__DATABASE__URL", &url)]));
    database.sql(&dead_letter()).await;

    let listed: Value = serde_json::from_str(&text(&run(&["list", "--json"]))).expect("JSON");
    assert_eq!(
        (listed.as_array().map(Vec::len), &listed[0]["id"]),
        (Some(1), &Value::from(LETTER))
    );
    let table = text(&run(&["list"]));
    assert!(
        table.contains("gone.subscriber") && table.contains("it does not fit"),
        "{table}"
    );

    for which in ["--all", LETTER] {
        let output = run(&["retry", which]);
        assert!(!output.status.success());
        let reported = errors(&output);
        assert!(reported.contains("unknown subscriber gone.subscriber"), "{reported}");
    }
    let unknown = errors(&run(&["retry", "00000000-0000-7000-8000-000000000002"]));
    assert!(unknown.contains("No unresolved dead letter has this id"), "{unknown}");

    database
        .sql("update core_event_dead_letters set resolved_at = now()")
        .await;
    assert!(!text(&run(&["list"])).contains(LETTER));
    assert!(text(&run(&["list", "--all"])).contains(LETTER));
}
