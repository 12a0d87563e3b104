//! Items that fail for different reasons, while the others succeed.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::Fixture;

fn failed(status: u16, code: &str) -> Value {
    json!({"state": "failed", "status": status, "code": code})
}

fn done() -> Value {
    json!({"state": "succeeded", "status": null, "code": null})
}

#[actix_web::test]
async fn crm_6_unknown_foreign_and_hidden_resources_are_not_found_alike() {
    let fixture = Fixture::new().await;
    let own = fixture.things(2, &[]).await;
    let foreign = fixture.things_of(fixture.b, 1, &[]).await;
    let hidden = fixture
        .things_of((fixture.a.0, fixture.organization(1).await), 1, &[])
        .await;
    let visible = fixture.organization(2).await;
    let (here, grants) = (
        fixture.things_of((fixture.a.0, visible), 1, &[]).await,
        crate::fixture::NUMBERS,
    );
    fixture.people().set("anna", fixture.a.0, &grants, Some(&[visible]));
    let ids = [here[0], foreign[0], hidden[0], Uuid::from_u128(42), own[0]];
    let before = fixture
        .app
        .rows("select * from sample_things where number = 0 order by id")
        .await;

    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    let missing = failed(404, "not_found");
    let expected = [done(), missing.clone(), missing.clone(), missing.clone(), missing];
    assert_eq!(fixture.items(job).await, expected);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed_with_errors"), json!([5, 5, 1, 0, 4]))
    );
    let summary = fixture.job("anna", job).await["resultSummary"].clone();
    assert_eq!(
        (&summary["affectedCount"], &summary["failedCount"]),
        (&json!(1), &json!(4))
    );
    for (shown, id) in summary["failedItems"].as_array().expect("items").iter().zip(&ids[1..]) {
        let expected = json!({"id": id, "status": 404, "code": "not_found", "message": "Thing not found"});
        assert_eq!(shown, &expected);
    }
    let after = fixture
        .app
        .rows("select * from sample_things where number = 0 order by id")
        .await;
    assert_eq!(after.len() + 1, before.len());
}

#[actix_web::test]
async fn crm_9_an_interceptor_gives_its_own_status_and_code() {
    let fixture = Fixture::new().await;
    let names: Vec<(usize, &str)> = (2..250).step_by(3).map(|index| (index, "third")).collect();
    let ids = fixture.things(250, &names).await;

    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    for (index, item) in fixture.items(job).await.iter().enumerate() {
        let expected = if index % 3 == 2 {
            failed(409, "every_third")
        } else {
            done()
        };
        assert_eq!(item, &expected, "{index}");
    }
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed_with_errors"), json!([250, 250, 167, 0, 83]))
    );
    assert_eq!(fixture.entries().await.len(), 167);
}

#[actix_web::test]
async fn a_rejection_after_the_change_undoes_that_item_alone() {
    let fixture = Fixture::new().await;
    let ids = fixture
        .things(6, &[(1, "late"), (3, "short"), (4, "third"), (5, "silent")])
        .await;
    fixture
        .app
        .sql(&format!("update sample_things set number = 7 where id = '{}'", ids[2]))
        .await;

    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    let expected = [
        done(),
        failed(423, "too_late"),
        json!({"state": "skipped", "status": null, "code": null}),
        failed(400, "validation_failed"),
        failed(409, "every_third"),
        failed(409, "blocked"),
    ];
    assert_eq!(fixture.items(job).await, expected);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed_with_errors"), json!([6, 6, 1, 1, 4]))
    );
    assert_eq!(fixture.numbers(&ids).await, [7, 0, 7, 0, 0, 0]);
    let entries = fixture.entries().await;
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["resource_id"], &entries[0]["source"]),
        (&json!(ids[0]), &json!("job"))
    );
}

#[actix_web::test]
async fn an_item_that_its_command_rejects_fails_with_the_code_of_the_rule() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(4, &[(1, "short"), (2, "orphan")]).await;

    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    let expected = [
        done(),
        failed(400, "validation_failed"),
        failed(400, "unknown_reference"),
        done(),
    ];
    assert_eq!(fixture.items(job).await, expected);
    assert_eq!(fixture.numbers(&ids).await, [7, 0, 0, 7]);
}

#[actix_web::test]
async fn a_violated_key_is_a_conflict_of_its_item_and_the_others_are_changed() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(120, &[]).await;
    let slots = format!(
        "update sample_things set slot = 1 where id = '{}';
         update sample_things set slot = 1, number = 7 where id = '{}'",
        ids[40], ids[119]
    );
    fixture.app.sql(&slots).await;

    let job = fixture.start(&ids[..119], 7).await;
    fixture.app.run_jobs().await;

    let items = fixture.items(job).await;
    assert_eq!(items[40], failed(409, "conflict"));
    assert_eq!(items.iter().filter(|item| **item == done()).count(), 118);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed_with_errors"), json!([119, 119, 118, 0, 1]))
    );
    assert_eq!(fixture.entries().await.len(), 118);
    let message = &fixture.job("anna", job).await["resultSummary"]["failedItems"][0]["message"];
    assert!(!message.as_str().expect("a text").contains("slot"), "{message}");
}

#[actix_web::test]
async fn a_violated_check_is_not_a_conflict() {
    let fixture = Fixture::new().await;
    let ids = fixture.things(3, &[]).await;
    let rule = "alter table sample_things add constraint sample_things_number_check check (slot is null or number < 5)";
    fixture.app.sql(rule).await;
    fixture
        .app
        .sql(&format!("update sample_things set slot = 1 where id = '{}'", ids[1]))
        .await;

    let job = fixture.start(&ids, 7).await;
    fixture.app.run_jobs().await;

    assert_eq!(
        fixture.items(job).await,
        [done(), failed(500, "internal_error"), done()]
    );
}

#[actix_web::test]
async fn a_job_whose_every_item_failed_has_failed() {
    let fixture = Fixture::new().await;

    let job = fixture.start(&[Uuid::from_u128(1), Uuid::from_u128(2)], 7).await;
    fixture.app.run_jobs().await;

    assert_eq!(fixture.counts(job).await, (json!("failed"), json!([2, 2, 0, 0, 2])));
    let shown = fixture.job("anna", job).await;
    assert_eq!(
        (&shown["errorMessage"], &shown["progressPercent"]),
        (&Value::Null, &json!(100))
    );
}
