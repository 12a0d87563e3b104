//! The requester's features while the job runs.

use serde_json::json;
use uuid::Uuid;

use crate::fixture::{Fixture, NUMBERS};

/// Starts a job of 250 items and processes 100 of them.
async fn under_way(fixture: &Fixture) -> (Uuid, Vec<Uuid>) {
    let ids = fixture.things(250, &[]).await;
    let job = fixture.start(&ids, 7).await;
    fixture.step().await;
    fixture.step().await;
    (job, ids)
}

async fn assert_rest_is_forbidden(fixture: &Fixture, job: Uuid) {
    assert_eq!(fixture.app.run_jobs().await, 1);
    assert_eq!(
        fixture.counts(job).await,
        (json!("completed_with_errors"), json!([250, 250, 100, 0, 150]))
    );
    let forbidden = json!({"state": "failed", "status": 403, "code": "forbidden"});
    assert!(fixture.items(job).await[100..].iter().all(|item| *item == forbidden));
    assert_eq!(fixture.entries().await.len(), 100);
}

#[actix_web::test]
async fn crm_8_a_withdrawn_feature_fails_the_rest() {
    let fixture = Fixture::new().await;
    let (job, _) = under_way(&fixture).await;

    fixture
        .people()
        .set("anna", fixture.a.0, &["audit_logs.view_self"], None);

    assert_rest_is_forbidden(&fixture, job).await;
    let shown = fixture.job("anna", job).await;
    assert_eq!(
        shown["resultSummary"]["failedItems"].as_array().map(Vec::len),
        Some(100),
        "the first hundred"
    );
}

#[actix_web::test]
async fn crm_8_a_deleted_user_fails_the_rest() {
    let fixture = Fixture::new().await;
    let (job, _) = under_way(&fixture).await;

    fixture.people().remove("anna");

    assert_rest_is_forbidden(&fixture, job).await;
}

#[actix_web::test]
async fn crm_8_signing_out_changes_nothing() {
    let fixture = Fixture::new().await;
    let (job, ids) = under_way(&fixture).await;

    fixture.people().sign_out("anna");
    assert_eq!(fixture.ask("anna", &ids, 8).await.0, 401);
    fixture.app.run_jobs().await;

    assert_eq!(
        fixture.counts(job).await,
        (json!("completed"), json!([250, 250, 250, 0, 0]))
    );
}

#[actix_web::test]
async fn a_scope_that_shrinks_leaves_out_what_is_outside_of_it() {
    let fixture = Fixture::new().await;
    let (kept, lost) = (fixture.organization(1).await, fixture.organization(2).await);
    fixture.people().set("anna", fixture.a.0, &NUMBERS, Some(&[kept, lost]));
    let here = fixture.things_of((fixture.a.0, kept), 1, &[]).await;
    let there = fixture.things_of((fixture.a.0, lost), 1, &[]).await;
    let job = fixture.start(&[here[0], there[0]], 7).await;

    fixture.people().set("anna", fixture.a.0, &NUMBERS, Some(&[kept]));
    fixture.app.run_jobs().await;

    assert_eq!(fixture.numbers(&[here[0], there[0]]).await, [7, 0]);
    assert_eq!(fixture.items(job).await[1]["code"], "not_found");
}

#[actix_web::test]
async fn a_selected_organization_that_may_no_longer_be_selected_forbids_the_rest() {
    let fixture = Fixture::new().await;
    let selected = fixture.organization(1).await;
    let here = fixture.things_of((fixture.a.0, selected), 1, &[]).await;
    let elsewhere = fixture.things(1, &[]).await;
    let body = json!({"ids": [here[0], elsewhere[0]], "number": 7});
    let selects = ("X-Organization-Id", selected.to_string());
    let ask = async || {
        let response = fixture
            .post_with("anna", crate::sample::BULK, (selects.0, &selects.1), &body)
            .await;
        assert_eq!(response.status, 201, "{}", response.text());
        crate::fixture::id_of(&response.json()["progressJobId"])
    };

    let first = ask().await;
    fixture.app.run_jobs().await;
    assert_eq!(fixture.job("anna", first).await["organizationId"], json!(selected));
    assert_eq!(
        fixture.numbers(&[here[0], elsewhere[0]]).await,
        [7, 0],
        "the selection narrows"
    );
    let second = ask().await;
    fixture
        .people()
        .set("anna", fixture.a.0, &NUMBERS, Some(&[Uuid::from_u128(1)]));
    fixture.app.run_jobs().await;

    assert_eq!(fixture.counts(second).await, (json!("failed"), json!([2, 2, 0, 0, 2])));
    assert_eq!(fixture.items(second).await[0]["code"], "forbidden");
}
