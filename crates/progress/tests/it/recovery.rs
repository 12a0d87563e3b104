//! Workers that crash, freeze or never make progress.

use std::pin::pin;

use backoffice_core::jobs::Worker;
use backoffice_test_support::Duration;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::fixture::{Fixture, builder};
use crate::people::{Mood, People};

pub(crate) const MOMENT: std::time::Duration = std::time::Duration::from_millis(400);
const BROKEN: &str = "internal_error";

fn codes(items: &[Value]) -> Vec<(usize, &Value)> {
    let failed = items.iter().enumerate().filter(|(_, item)| item["state"] == "failed");
    failed.map(|(position, item)| (position, &item["code"])).collect()
}

#[actix_web::test]
async fn job_8_an_item_that_panics_fails_alone() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(150, &[(120, "bomb")]).await;
    let job = fixture.start(&ids, 7).await;

    fixture.run_with_repeats().await;

    let items = fixture.items(job).await;
    assert_eq!(codes(&items), [(120, &json!(BROKEN))]);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed_with_errors"), json!([150, 150, 149, 0, 1]))
    );
    assert_eq!(fixture.entries().await.len(), 149, "each exactly once");
    let failed = &fixture.job("anna", job).await["resultSummary"]["failedItems"][0];
    assert_eq!(
        (&failed["status"], &failed["message"]),
        (&json!(500), &json!("Internal server error"))
    );
}

#[actix_web::test]
async fn job_8_an_item_that_takes_its_worker_down_is_given_up_after_three_tries_of_its_own() {
    for place in [0, 2] {
        let fixture = Fixture::new().await;
        let ids = fixture.things(5, &[(place, "abyss")]).await;
        let job = fixture.start(&ids, 7).await;
        fixture.step().await;

        // A worker that crashes changes nothing; only its lease expires.
        let mut deaths = 0;
        while fixture.counts(job).await.0 == "running" {
            let worker = Worker::new(fixture.app.runtime().clone());
            if timeout(MOMENT, worker.run_one(None)).await.is_err() {
                deaths += 1;
            }
            assert!(deaths < 10, "it ends some day");
            fixture.app.advance(Duration::seconds(61));
        }

        assert_eq!(deaths, 5, "two in company, three alone");
        assert_eq!(codes(&fixture.items(job).await), [(place, &json!(BROKEN))]);
        assert_eq!(
            fixture.counts(job).await,
            (json!("completed_with_errors"), json!([5, 5, 4, 0, 1]))
        );
        let mut numbers = vec![7; 5];
        numbers[place] = 0;
        assert_eq!(fixture.numbers(&ids).await, numbers);
    }
}

#[actix_web::test]
async fn job_5_a_worker_that_froze_writes_nothing_once_another_has_the_job() {
    let fixture = Fixture::of(builder().pool_size(8)).await;
    let ids = fixture.things(250, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.step().await;
    fixture.step().await;
    let other = fixture.app.second_node().await;
    People::of(&other).copy_from(&fixture.people());

    fixture.people().become_(Mood::Waits);
    let frozen = Worker::new(fixture.app.runtime().clone());
    let mut frozen = pin!(frozen.run_one(None));
    assert!(timeout(MOMENT, &mut frozen).await.is_err(), "it holds the job");
    assert_eq!(other.run_jobs().await, 0, "nobody else takes it");
    fixture.app.advance(Duration::seconds(61));
    assert_eq!(other.run_jobs().await, 1);
    let finished = fixture.app.snapshot().await;
    fixture.people().become_(Mood::Responds);
    frozen.await.expect("it goes on with other work");

    assert!(fixture.app.snapshot().await == finished, "not a row has changed");
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed"), json!([250, 250, 250, 0, 0]))
    );
    assert_eq!(fixture.entries().await.len(), 250);
}

#[actix_web::test]
async fn job_7_a_job_whose_worker_dies_goes_on_where_it_was() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(250, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.step().await;
    let mut processed = Vec::new();

    for _ in 0..3 {
        fixture.people().become_(Mood::Waits);
        let dying = Worker::new(fixture.app.runtime().clone());
        assert!(timeout(MOMENT, dying.run_one(None)).await.is_err());
        fixture.people().become_(Mood::Responds);
        fixture.app.advance(Duration::seconds(61));
        fixture.step().await;
        processed.push(fixture.counts(job).await.1[1].clone());
    }

    assert_eq!(processed, [100, 200, 250]);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed"), json!([250, 250, 250, 0, 0]))
    );
    assert_eq!(fixture.entries().await.len(), 250);
}

#[actix_web::test]
async fn a_job_that_is_given_up_has_failed_and_can_be_tried_again() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(150, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.step().await;
    fixture.step().await;
    fixture.people().become_(Mood::Fails);

    assert_eq!(fixture.run_with_repeats().await, 8);

    assert_eq!(
        fixture.counts(job).await,
        (json!("failed"), json!([150, 100, 100, 0, 0]))
    );
    let shown = fixture.job("anna", job).await;
    assert_eq!(
        (&shown["errorMessage"], &shown["progressPercent"]),
        (&json!("The job failed after its last attempt"), &json!(66))
    );
    let reported = "select payload->>'status' as status from core_outbox_events where name = 'progress.job.failed'";
    assert_eq!(fixture.app.rows(reported).await, [json!({"status": "failed"})]);
    fixture.people().become_(Mood::Responds);
    assert_eq!(fixture.retry("anna", job).await.1["totalCount"], 50);
    fixture.app.run_jobs().await;
    assert_eq!(fixture.numbers(&ids).await, vec![7; 150]);
}

#[actix_web::test]
async fn job_4_many_workers_run_every_job_once() {
    let fixture = Fixture::of(
        builder()
            .pool_size(16)
            .config("[jobs]\nmax_open_bulk = 100\nper_tenant = 8"),
    )
    .await;
    let ids = fixture.things(30, &[]).await;
    let mut jobs = Vec::new();
    for (number, id) in (1..).zip(&ids) {
        jobs.push(fixture.start(&[*id], number).await);
    }
    let other = fixture.app.second_node().await;
    People::of(&other).copy_from(&fixture.people());

    let workers = (0..8).map(|number| {
        let node = if number % 2 == 0 { &fixture.app } else { &other };
        let worker = Worker::new(node.runtime().clone());
        async move {
            let (mut runs, mut idle) = (0, 0);
            while idle < 5 {
                match worker.run_one(None).await.expect("the queue") {
                    true => runs += 1,
                    false => idle += 1,
                }
            }
            runs
        }
    });
    let runs: usize = futures_util::future::join_all(workers).await.into_iter().sum();

    assert_eq!(runs + fixture.app.run_jobs().await, 30);
    assert_eq!(fixture.entries().await.len(), 30);
    assert_eq!(fixture.numbers(&ids).await, (1..=30).collect::<Vec<_>>());
    for job in jobs {
        assert_eq!(fixture.counts(job).await.0, "completed");
    }
}
