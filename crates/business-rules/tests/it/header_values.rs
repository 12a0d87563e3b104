//! Secret headers of webhooks.

use actix_web::http::Method;
use backoffice_core::Call;
use backoffice_core::jobs::enqueue_due;
use backoffice_test_accounts::{TwoTenants, login};
use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{EXECUTE, RULES, action, fixture_with, last_write, rule, with};
use crate::receiver::Receiver;
use crate::webhooks::{LOCAL, deliveries};

const FIRST: &str = "Bearer first-2Fq9";
const SECOND: &str = "Bearer second-8Lw3";
const VALUES: &str =
    "select id::text as id, unused_since is not null as is_unused from business_rules_header_values order by id";

fn calling(url: &str, authorization: &Value) -> Value {
    let headers = json!({"Authorization": authorization, "X-Plain": "n {{n}}"});
    json!([action("CALL_WEBHOOK", json!({"url": url, "headers": headers}))])
}

/// Executes the rule.
async fn execute(fixture: &TwoTenants) {
    let input = json!({"entityType": "x.y", "data": {"n": 7}});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
    assert_eq!(status, 200, "{body}");
}

/// Executes the rule and returns the header that the receiver got.
async fn sent(fixture: &TwoTenants, receiver: &Receiver) -> String {
    execute(fixture).await;
    fixture.app.run_jobs().await;
    let received = receiver.received();
    let last = received.last().expect("a request");
    assert_eq!(last.header("x-plain"), "n 7");
    last.header("authorization").to_owned()
}

async fn change(fixture: &TwoTenants, id: Uuid, actions: Value) -> (u16, Value) {
    let body = json!({"id": id, "successActions": actions});
    let request = fixture.app.request(Method::PUT, RULES).bearer(&fixture.a.token);
    let response = request.json(&body).send().await;
    (response.status, response.json())
}

async fn shown(fixture: &TwoTenants, id: Uuid) -> Value {
    let (status, body) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!(status, 200, "{body}");
    body["successActions"].clone()
}

/// Whether any row of any table contains the text.
async fn is_stored(fixture: &TwoTenants, text: &str) -> bool {
    for table in fixture.app.tables().await {
        let query = format!("select 1 as one from {table} t where strpos(t::text, '{text}') > 0 limit 1");
        if !fixture.app.rows(&query).await.is_empty() {
            return true;
        }
    }
    false
}

#[actix_web::test]
async fn secret_headers_are_sealed_and_sent() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let body = with(
        rule("hook", "ACTION", "x.y"),
        json!({"successActions": calling(&receiver.url("/a/{{n}}"), &json!(FIRST))}),
    );
    let id = fixture.create(RULES, body).await;

    assert_eq!(sent(&fixture, &receiver).await, FIRST);

    let redacted = calling(&receiver.url("/a/{{n}}"), &json!("[redacted]"));
    assert_eq!(shown(&fixture, id).await, redacted);
    assert!(!is_stored(&fixture, "first-2Fq9").await);
    assert!(is_stored(&fixture, "n {{n}}").await, "the search finds what is stored");
}

/// Creates a rule with a webhook that has a secret header and one that has none, and executes it.
async fn queue_with_and_without_secret(fixture: &TwoTenants, receiver: &Receiver) {
    let plain = action("CALL_WEBHOOK", json!({"url": receiver.url("/plain")}));
    let mut actions = calling(&receiver.url("/secret"), &json!(FIRST));
    actions.as_array_mut().expect("a list").push(plain);
    let body = with(rule("hook", "ACTION", "x.y"), json!({"successActions": actions}));
    fixture.create(RULES, body).await;
    execute(fixture).await;
}

/// Changes the last byte of sealed values, so that no key opens them. The same change again restores them.
async fn spoil(fixture: &TwoTenants, table: &str, column: &str) {
    let last = format!("length({column}) - 1");
    let sql = format!("update {table} set {column} = set_byte({column}, {last}, get_byte({column}, {last}) # 1)");
    assert_eq!(fixture.app.sql(&sql).await, 1);
}

/// Returns address, status, attempts and error of the deliveries.
async fn states(fixture: &TwoTenants) -> Vec<(String, Value)> {
    let mut states: Vec<(String, Value)> = Vec::new();
    for one in deliveries(fixture).await {
        let url = one["url"].as_str().unwrap_or_default();
        let path = url.rsplit('/').next().unwrap_or_default().to_owned();
        states.push((path, json!([one["status"], one["attempts"], one["error"]])));
    }
    states.sort_by(|left, right| left.0.cmp(&right.0));
    states
}

#[actix_web::test]
async fn a_header_that_can_not_be_opened_fails_its_own_webhook_only() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    queue_with_and_without_secret(&fixture, &receiver).await;
    spoil(&fixture, "business_rules_header_values", "value").await;

    fixture.app.run_jobs().await;

    let of_secret = json!(["failed", 1, "unreadable_secret"]);
    assert_eq!(
        states(&fixture).await,
        [
            ("plain".to_owned(), json!(["sent", 1, null])),
            ("secret".to_owned(), of_secret)
        ]
    );
    let paths: Vec<String> = receiver.received().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/plain"]);
    let sql = "select payload->>'reason' as reason from core_outbox_events where name = 'business_rules.rule.execution_failed'";
    assert_eq!(
        fixture.app.rows(sql).await,
        [json!({"reason": "webhook: unreadable_secret"})]
    );

    spoil(&fixture, "business_rules_header_values", "value").await;
    let failed = deliveries(&fixture).await;
    let failed = failed.iter().find(|one| one["status"] == "failed").expect("a failure");
    let id = failed["id"].as_str().unwrap_or_default();
    let retry = format!("/business_rules/webhook-deliveries/{id}/retry");
    assert_eq!(
        fixture.app.post(&fixture.a.token, &retry, Value::Null).await.0,
        200,
        "sent again once the keys are back"
    );
    fixture.app.run_jobs().await;
    let received = receiver.received();
    assert_eq!(received[1].header("authorization"), FIRST);
}

#[actix_web::test]
async fn a_signing_secret_that_can_not_be_opened_fails_webhooks_unless_there_is_another_one() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let secrets = "/business_rules/webhook-secrets";
    assert_eq!(fixture.app.post(&fixture.a.token, secrets, Value::Null).await.0, 201);
    spoil(&fixture, "business_rules_webhook_secrets", "secret").await;

    queue_with_and_without_secret(&fixture, &receiver).await;
    fixture.app.run_jobs().await;

    let failed = json!(["failed", 1, "unreadable_secret"]);
    assert_eq!(
        states(&fixture).await,
        [("plain".to_owned(), failed.clone()), ("secret".to_owned(), failed)]
    );
    assert_eq!(
        fixture.app.count("business_rules_webhook_secrets").await,
        1,
        "none is created"
    );

    let (status, second) = fixture.app.post(&fixture.a.token, secrets, Value::Null).await;
    assert_eq!(status, 201, "{second}");
    let second = second["secret"].as_str().expect("a secret");
    execute(&fixture).await;
    fixture.app.run_jobs().await;
    let received = receiver.received();
    assert_eq!(received.len(), 2);
    for request in received {
        assert_eq!(request.verified_by(&[second]), 1);
        assert_eq!(request.header("webhook-signature").split(' ').count(), 1);
    }
}

#[actix_web::test]
async fn a_redacted_header_keeps_its_value_for_the_same_receiver_only() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let body = with(
        rule("hook", "ACTION", "x.y"),
        json!({"successActions": calling(&receiver.url("/a"), &json!(FIRST))}),
    );
    let id = fixture.create(RULES, body).await;
    let redacted = json!("[redacted]");

    let (status, body) = change(&fixture, id, calling(&receiver.url("/b?q={{n}}"), &redacted)).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(sent(&fixture, &receiver).await, FIRST);

    for url in ["https://attacker.example/b", "https://127.0.0.1/b"] {
        let (status, body) = change(&fixture, id, calling(url, &redacted)).await;
        assert_eq!(
            (status, details(&body)),
            (400, vec![("successActions[0].config.headers", "secrets_required")]),
            "{body}"
        );
    }
    let ids = fixture.app.rows(VALUES).await;
    let foreign = json!({"sealed": ids[0]["id"]});
    let (status, body) = change(&fixture, id, calling("https://attacker.example/b", &foreign)).await;
    assert_eq!(
        (status, details(&body)),
        (400, vec![("successActions[0].config.headers", "invalid_value")])
    );
    let of_new = with(
        rule("other", "ACTION", "x.y"),
        json!({"successActions": calling(&receiver.url("/a"), &redacted)}),
    );
    let (status, body) = fixture.app.post(&fixture.a.token, RULES, of_new).await;
    assert_eq!((status, details(&body)[0].1), (400, "secrets_required"));
    let with_reference = calling(&receiver.url("/a"), &json!("Bearer {{n}}"));
    let (status, body) = change(&fixture, id, with_reference).await;
    assert_eq!((status, details(&body)[0].1), (400, "invalid_value"));

    assert_eq!(sent(&fixture, &receiver).await, FIRST);
    assert_eq!(fixture.app.rows(VALUES).await, ids, "rejected changes leave nothing");
}

#[actix_web::test]
async fn an_undo_brings_a_replaced_value_back_until_it_is_erased() {
    let (mut fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let body = with(
        rule("hook", "ACTION", "x.y"),
        json!({"successActions": calling(&receiver.url("/a"), &json!(FIRST))}),
    );
    let id = fixture.create(RULES, body).await;
    let (status, body) = change(&fixture, id, calling(&receiver.url("/a"), &json!(SECOND))).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(sent(&fixture, &receiver).await, SECOND);
    assert_eq!(unused(&mut fixture).await, [true, false]);

    let last = last_write(&fixture, id).await;
    let (status, body) = fixture.app.undo(&fixture.a.token, last).await;
    assert_eq!(status, 200, "{body}");

    assert_eq!(sent(&fixture, &receiver).await, FIRST);
    assert_eq!(unused(&mut fixture).await, [false, true]);
    fixture.app.advance(Duration::days(365 * 2 + 40));
    assert_eq!(unused(&mut fixture).await, [false]);
}

#[actix_web::test]
async fn a_shorter_retention_erases_no_value_before_the_log_is_shorter() {
    let config = format!("{LOCAL}[audit.action]\nretention_months = 1\n");
    let (mut fixture, receiver) = (fixture_with(&config).await, Receiver::start().await);
    // The retention that `migrate` has stored.
    let kept = async |fixture: &TwoTenants, kept: &str| {
        let sql = format!("update core_monthly_tables set kept = '{kept}' where name = 'audit_action_logs'");
        assert_eq!(fixture.app.sql(&sql).await, 1);
    };
    kept(&fixture, "24 months").await;
    let body = with(
        rule("hook", "ACTION", "x.y"),
        json!({"successActions": calling(&receiver.url("/a"), &json!(FIRST))}),
    );
    let id = fixture.create(RULES, body).await;
    let (status, body) = change(&fixture, id, calling(&receiver.url("/a"), &json!(SECOND))).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(unused(&mut fixture).await, [true, false]);

    fixture.app.advance(Duration::days(70));
    assert_eq!(unused(&mut fixture).await, [true, false]);

    let last = last_write(&fixture, id).await;
    let (status, body) = fixture.app.undo(&fixture.a.token, last).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(sent(&fixture, &receiver).await, FIRST);
    assert_eq!(unused(&mut fixture).await, [false, true]);
    fixture.app.advance(Duration::days(70));
    kept(&fixture, "1 month").await;
    assert_eq!(unused(&mut fixture).await, [false]);
}

/// Runs the schedule that erases what is old, hours later. Returns for each value that is left whether no rule names it.
async fn unused(fixture: &mut TwoTenants) -> Vec<bool> {
    // A new schedule is due after its first interval.
    for _ in 0..2 {
        fixture.app.advance(Duration::hours(7));
        let call = Call::internal(fixture.app.runtime());
        enqueue_due(&call).await.expect("the database can be read");
        fixture.app.run_jobs().await;
    }
    fixture.a.token = login(&fixture.app, "admin@alpha.test").await;
    let rows = fixture.app.rows(VALUES).await;
    rows.iter().map(|row| row["is_unused"] == true).collect()
}
