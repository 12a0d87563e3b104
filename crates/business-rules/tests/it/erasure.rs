//! Deletion of old webhooks, and of values of headers that no rule names.

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_core::jobs::enqueue_due;
use backoffice_test_accounts::{TwoTenants, login};
use backoffice_test_support::Duration;
use serde_json::json;

use crate::fixture::{EXECUTE, RULES, action, fixture_with, rule, with};
use crate::receiver::Receiver;
use crate::webhooks::LOCAL;

const DELIVERIES: &str = "/business_rules/webhook-deliveries";

/// Creates two tenants, of which Alpha has a webhook that was sent with a secret header. All schedules are known: they are due after their intervals.
async fn sent() -> (TwoTenants, Receiver) {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let config = json!({"url": receiver.url("/"), "headers": {"Authorization": "Bearer first-2Fq9"}});
    let actions = json!({"successActions": [action("CALL_WEBHOOK", config)]});
    fixture
        .create(RULES, with(rule("hook", "ACTION", "x.y"), actions))
        .await;
    let input = json!({"entityType": "x.y"});
    assert_eq!(fixture.app.post(&fixture.a.token, EXECUTE, input).await.0, 200);
    run_due(&fixture).await;
    assert_eq!(receiver.received().len(), 1);
    (fixture, receiver)
}

async fn run_due(fixture: &TwoTenants) {
    let call = Call::internal(fixture.app.runtime());
    enqueue_due(&call).await.expect("the database can be read");
    fixture.app.run_jobs().await;
}

#[actix_web::test]
async fn a_list_that_was_read_before_shows_no_erased_webhook() {
    let (mut fixture, _receiver) = sent().await;
    fixture.app.advance(Duration::days(31));
    fixture.a.token = login(&fixture.app, "admin@alpha.test").await;
    let request = || fixture.app.request(Method::GET, DELIVERIES).bearer(&fixture.a.token);
    let before = request().send().await;
    let tag = before.header("etag").expect("an entity tag");
    assert_eq!(before.json()["total"], 1);

    run_due(&fixture).await;

    let after = request().header("If-None-Match", &tag).send().await;
    assert_eq!(after.status, 200, "a webhook was erased");
    assert_eq!(
        (&after.json()["total"], &after.json()["items"]),
        (&json!(0), &json!([]))
    );
}

#[actix_web::test]
async fn webhooks_are_erased_while_values_of_headers_can_not_be() {
    let (fixture, _receiver) = sent().await;
    fixture
        .app
        .sql("alter table business_rules_header_values rename to missing_values")
        .await;
    fixture.app.advance(Duration::days(31));

    run_due(&fixture).await;

    assert_eq!(fixture.app.count("business_rules_webhook_deliveries").await, 0);
    let failed = "core_jobs where last_error is not null and kind = 'business_rules.header_value.erase_unused'";
    assert_eq!(fixture.app.count(failed).await, 1);
}

#[actix_web::test]
async fn many_values_are_checked_against_long_rules() {
    let (fixture, _receiver) = sent().await;
    // Reading the rule takes milliseconds. A statement that read it once for each value would take more than the 30 seconds that it may take.
    let long = "update business_rules_rules set failure_actions = (
        select jsonb_agg(jsonb_build_object('type', 'LOG', 'config', jsonb_build_object('message', repeat('x', 2000))))
        from generate_series(1, 1000))";
    assert_eq!(fixture.app.sql(long).await, 1);
    let many = format!(
        "insert into business_rules_header_values (tenant_id, id, value, created_at, updated_at)
         select t.id, gen_random_uuid(), 'x'::bytea, now(), now()
         from (values ('{}'::uuid), ('{}'::uuid)) as t (id), generate_series(1, 12000)",
        fixture.a.id, fixture.b.id
    );
    assert_eq!(fixture.app.sql(&many).await, 24_000);
    let numbers = async || {
        let sql = "select count(*)::int as number, count(*) filter (where unused_since is null)::int as used \
                   from business_rules_header_values";
        fixture.app.rows(sql).await.remove(0)
    };

    fixture.app.advance(Duration::hours(7));
    run_due(&fixture).await;
    assert_eq!(numbers().await, json!({"number": 24_001, "used": 1}));

    fixture.app.advance(Duration::days(365 * 2 + 40));
    run_due(&fixture).await;
    assert_eq!(numbers().await, json!({"number": 1, "used": 1}));
}

#[actix_web::test]
async fn one_job_checks_the_values_of_several_tenants() {
    let (fixture, _receiver) = sent().await;
    let values = format!(
        "insert into business_rules_header_values (tenant_id, id, value, created_at, updated_at)
         select t.id, gen_random_uuid(), 'x'::bytea, now(), now()
         from (values ('{}'::uuid), ('{}'::uuid)) as t (id), generate_series(1, 10)",
        fixture.a.id, fixture.b.id
    );
    assert_eq!(fixture.app.sql(&values).await, 20);

    fixture.app.advance(Duration::hours(7));
    run_due(&fixture).await;

    let jobs = "core_jobs where kind = 'business_rules.header_value.erase_unused' and state = 'done'";
    let unused = "business_rules_header_values where unused_since is not null";
    assert_eq!(fixture.app.count(unused).await, 20);
    assert_eq!(fixture.app.count(jobs).await, 1);
}
