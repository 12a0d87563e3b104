//! Webhooks of rules.

use std::time::Duration as StdDuration;

use backoffice_business_rules::{WebhookSummary, list_webhooks, retry_webhook};
use backoffice_core::Call;
use backoffice_test_accounts::{CONFIG, NO_LIMITS, TwoTenants};
use backoffice_test_support::{Duration, details};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{
    DEALS, EXECUTE, RULES, action, condition, deal, fixture, fixture_with, logs, message, rule, with,
};
use crate::receiver::Receiver;

pub(crate) const LOCAL: &str = "[egress]\nallowed_hosts = ['127.0.0.1']\n";
const SECRETS: &str = "/business_rules/webhook-secrets";
const DELIVERIES: &str = "/business_rules/webhook-deliveries";

fn calling(url: &str, more: Value) -> Value {
    let config = with(json!({"url": url}), more);
    let actions = json!({"successActions": [action("CALL_WEBHOOK", config)]});
    with(rule("hook", "ACTION", "x.y"), actions)
}

/// Executes the rules and returns the result of the first action.
async fn execute(fixture: &TwoTenants, data: Value) -> Value {
    let input = json!({"entityType": "x.y", "entityId": "7", "eventType": "updated", "data": data});
    let (status, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
    assert_eq!(status, 200, "{body}");
    body["executedRules"][0]["actionsExecuted"]["results"][0].clone()
}

async fn secret(fixture: &TwoTenants) -> (String, String) {
    let (status, body) = fixture.app.post(&fixture.a.token, SECRETS, Value::Null).await;
    assert_eq!(status, 201, "{body}");
    let text = |name: &str| body[name].as_str().expect("a text").to_owned();
    (text("id"), text("secret"))
}

pub(crate) async fn deliveries(fixture: &TwoTenants) -> Vec<Value> {
    let (status, page) = fixture.app.get(&fixture.a.token, DELIVERIES).await;
    assert_eq!(status, 200, "{page}");
    page["items"].as_array().cloned().unwrap_or_default()
}

#[actix_web::test]
async fn rul_10_the_third_attempt_is_accepted_and_every_signature_verifies() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    receiver.statuses(&[500, 503, 200]);
    let (_, secret) = secret(&fixture).await;
    let more = json!({"headers": {"X-Deal": "{{data.title}}"}, "body": {"title": "{{data.title}}", "n": "{{n}}"}});
    fixture
        .create(RULES, calling(&receiver.url("/hook/{{n}}?q={{data.title}}"), more))
        .await;

    let result = execute(&fixture, json!({"title": "A&B", "n": 7})).await;
    assert_eq!(
        (&result["success"], &result["status"]),
        (&json!(true), &json!("queued"))
    );
    assert!(receiver.received().is_empty());
    fixture.app.run_jobs().await;
    assert_eq!(deliveries(&fixture).await[0]["error"], "status_500");
    for seconds in [3, 3, 250, 80] {
        fixture.app.advance(Duration::seconds(seconds));
        fixture.app.run_jobs().await;
    }

    let received = receiver.received();
    assert_eq!(received.len(), 3);
    for request in &received {
        assert_eq!(request.header("webhook-id"), result["deliveryId"]);
        assert_eq!(request.verified_by(&[&secret]), 1);
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/hook/7?q=A%26B")
        );
        assert_eq!(
            (request.header("x-deal"), request.header("content-type")),
            ("A&B", "application/json")
        );
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        assert_eq!(body, json!({"title": "A&B", "n": 7}));
    }
    let times: Vec<i64> = received
        .iter()
        .filter_map(|request| request.header("webhook-timestamp").parse().ok())
        .collect();
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    let sent = &deliveries(&fixture).await[0];
    assert_eq!(
        (
            &sent["status"],
            &sent["attempts"],
            &sent["responseStatus"],
            &sent["error"]
        ),
        (&json!("sent"), &json!(3), &json!(200), &Value::Null)
    );
    assert!(sent.get("body").is_none() && sent.get("headers").is_none());
}

#[actix_web::test]
async fn an_address_is_sent_in_the_form_of_a_request_and_shown_as_it_was_written() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let written = receiver.url("/ä b/{{n}}?q=\"ü\"");
    let id = fixture.create(RULES, calling(&written, json!({}))).await;

    execute(&fixture, json!({"n": 7})).await;
    fixture.app.run_jobs().await;

    let sent = "/%C3%A4%20b/7?q=%22%C3%BC%22";
    assert_eq!(receiver.received()[0].path, sent);
    let delivery = &deliveries(&fixture).await[0];
    assert_eq!(
        (&delivery["status"], &delivery["url"]),
        (&json!("sent"), &json!(receiver.url(sent)))
    );
    let (_, read) = fixture.app.get(&fixture.a.token, &format!("{RULES}/{id}")).await;
    assert_eq!(read["successActions"][0]["config"]["url"], json!(written));
}

#[actix_web::test]
async fn a_first_secret_is_created_on_demand_and_at_most_two_are_live() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({"a": 1})).await;
    fixture.app.run_jobs().await;
    assert_eq!(receiver.received()[0].header("webhook-signature").split(' ').count(), 1);
    let body: Value = serde_json::from_slice(&receiver.received()[0].body).expect("JSON");
    assert_eq!(
        (&body["type"], &body["data"]),
        (&json!("x.y.updated"), &json!({"a": 1}))
    );

    let (_, second) = secret(&fixture).await;
    let (status, body) = fixture.app.post(&fixture.a.token, SECRETS, Value::Null).await;
    assert_eq!((status, &body["code"]), (409, &json!("webhook_secret_limit_reached")));
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;
    let request = receiver.received().remove(1);
    assert_eq!(request.header("webhook-signature").split(' ').count(), 2);
    assert_eq!(request.verified_by(&[&second]), 1);

    let (_, page) = fixture
        .app
        .get(&fixture.a.token, &format!("{SECRETS}?sortDir=asc"))
        .await;
    assert_eq!(page["total"], 2);
    assert!(!page.to_string().contains("whsec_"));
    let old = page["items"].as_array().into_iter().flatten();
    let old = old.filter_map(|one| one["id"].as_str()).min().expect("a secret");
    let path = format!("{SECRETS}?id={old}");
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 200);
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 404);
    assert_eq!(fixture.app.delete(&fixture.b.token, &path, Value::Null).await.0, 404);
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;
    let request = receiver.received().remove(2);
    assert_eq!(
        (
            request.verified_by(&[&second]),
            request.header("webhook-signature").split(' ').count()
        ),
        (1, 1)
    );
    let kept = fixture
        .app
        .rows("select count(*)::int as n from business_rules_webhook_secrets where secret is not null")
        .await;
    assert_eq!(kept, [json!({"n": 1})]);
    let entries =
        "select command_id from audit_action_logs where command_id like 'business_rules.webhook_secret.%' order by seq";
    assert_eq!(fixture.app.rows(entries).await.len(), 3);
}

#[actix_web::test]
async fn a_rejected_webhook_fails_at_once_and_is_reported_and_retried_on_request() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    receiver.statuses(&[410, 200]);
    let id = fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;

    let failed = deliveries(&fixture).await.remove(0);
    assert_eq!(
        (&failed["status"], &failed["attempts"], &failed["error"]),
        (&json!("failed"), &json!(1), &json!("status_410"))
    );
    let sql = "select payload from core_outbox_events where name = 'business_rules.rule.execution_failed'";
    let events = fixture.app.rows(sql).await;
    assert_eq!(
        (
            events.len(),
            &events[0]["payload"]["id"],
            &events[0]["payload"]["reason"]
        ),
        (1, &json!(id), &json!("webhook: status_410"))
    );
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(page["items"][0]["type"], "business_rules.rule.execution_failed");
    let retry = format!("{DELIVERIES}/{}/retry", failed["id"].as_str().unwrap_or_default());
    assert_eq!(fixture.app.post(&fixture.b.token, &retry, Value::Null).await.0, 404);
    assert_eq!(fixture.app.post(&fixture.a.token, &retry, Value::Null).await.0, 200);
    let (status, body) = fixture.app.post(&fixture.a.token, &retry, Value::Null).await;
    assert_eq!((status, &body["code"]), (409, &json!("webhook_delivery_not_failed")));
    fixture.app.run_jobs().await;

    assert_eq!(deliveries(&fixture).await[0]["status"], "sent");
    let received = receiver.received();
    assert_eq!(received[0].header("webhook-id"), received[1].header("webhook-id"));
    for (query, expected) in [("status=sent", 1), ("status=failed", 0), (&*format!("ruleId={id}"), 1)] {
        let (_, page) = fixture
            .app
            .get(&fixture.a.token, &format!("{DELIVERIES}?{query}"))
            .await;
        assert_eq!(page["total"], expected, "{query}");
    }
    assert_eq!(
        fixture
            .app
            .get(&fixture.a.token, &format!("{DELIVERIES}?status=x"))
            .await
            .0,
        400
    );
    assert_eq!(fixture.app.get(&fixture.b.token, DELIVERIES).await.1["total"], 0);
}

#[actix_web::test]
async fn a_requested_wait_is_honoured() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    receiver.respond(|_| (429, vec![("retry-after", "120".to_owned())]));
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;

    fixture.app.advance(Duration::seconds(110));
    fixture.app.run_jobs().await;
    assert_eq!(receiver.received().len(), 1);
    fixture.app.advance(Duration::seconds(15));
    fixture.app.run_jobs().await;
    assert_eq!(receiver.received().len(), 2);
}

#[actix_web::test]
async fn rul_11_addresses_of_the_inside_are_rejected_and_redirects_not_followed() {
    let fixture_of_default = fixture().await;
    for url in [
        "http://127.0.0.1",
        "https://[::ffff:10.0.0.1]",
        "https://localhost/x",
        "https://{{data.host}}/",
    ] {
        let (status, body) = fixture_of_default
            .app
            .post(&fixture_of_default.a.token, RULES, calling(url, json!({})))
            .await;
        assert_eq!(
            (status, details(&body)),
            (400, vec![("successActions[0].config.url", "invalid_value")]),
            "{url}"
        );
    }
    for header in ["Host", "webhook-id", "Cookie"] {
        let body = calling("https://example.com", json!({"headers": {header: "x"}}));
        let (status, body) = fixture_of_default
            .app
            .post(&fixture_of_default.a.token, RULES, body)
            .await;
        let expected = vec![("successActions[0].config.headers", "invalid_value")];
        assert_eq!((status, details(&body)), (400, expected), "{header}");
    }

    let (fixture, receiver, inside) = (
        fixture_with(LOCAL).await,
        Receiver::start().await,
        Receiver::start().await,
    );
    let target = inside.url("/secret");
    receiver.respond(move |_| (302, vec![("location", target.clone())]));
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;

    assert_eq!((receiver.received().len(), inside.received().len()), (1, 0));
    let failed = &deliveries(&fixture).await[0];
    assert_eq!(
        (&failed["status"], &failed["error"]),
        (&json!("failed"), &json!("egress_refused"))
    );
}

#[actix_web::test]
async fn an_address_that_is_not_allowed_when_it_is_sent_fails() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({})).await;
    let strict = fixture.app.second_node_with(&format!("{CONFIG}{NO_LIMITS}")).await;

    strict.run_jobs().await;

    assert!(receiver.received().is_empty());
    assert_eq!(deliveries(&fixture).await[0]["error"], "egress_refused");
}

#[actix_web::test]
async fn a_webhook_is_sent_after_the_commit_by_another_node_and_again_after_a_crash_with_the_same_id() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let (_, secret) = secret(&fixture).await;
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({})).await;
    let (second, third) = (fixture.app.second_node().await, fixture.app.second_node().await);
    // The receiver has the request, and the worker ends before it gets the response.
    receiver.statuses(&[0, 200]);
    let crashed = tokio::time::timeout(StdDuration::from_millis(1500), second.run_jobs()).await;
    assert!(crashed.is_err());
    assert_eq!(receiver.received().len(), 1);
    drop(second);

    for _ in 0..10 {
        fixture.app.advance(Duration::minutes(1));
        third.run_jobs().await;
    }

    let received = receiver.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].header("webhook-id"), received[1].header("webhook-id"));
    assert!(received.iter().all(|request| request.verified_by(&[&secret]) == 1));
    assert_eq!(deliveries(&fixture).await[0]["status"], "sent");
}

#[actix_web::test]
async fn a_guard_queues_webhooks_with_its_command_and_after_a_rejection() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    let id = deal(&fixture, "D").await;
    let hook = |path: &str| action("CALL_WEBHOOK", json!({"url": receiver.url(path)}));
    let fields = json!({
        "eventType": "updated", "conditionExpression": condition("title", "!=", json!("Blocked")),
        "successActions": [hook("/allowed")], "failureActions": [message("SHOW_ERROR", "No"), hook("/blocked")],
    });
    fixture
        .create(RULES, with(rule("g", "VALIDATION", "customers.deal"), fields))
        .await;
    let put = async |title: &str| {
        let request = fixture
            .app
            .request(actix_web::http::Method::PUT, DEALS)
            .bearer(&fixture.a.token);
        let body = json!({"id": id, "title": title});
        request.json(&body).responded_by_interceptor().send().await.status
    };

    assert_eq!(put("E").await, 200);
    assert_eq!(put("Blocked").await, 422);
    assert!(receiver.received().is_empty());
    fixture.app.run_jobs().await;

    let mut paths: Vec<String> = receiver.received().into_iter().map(|request| request.path).collect();
    paths.sort();
    assert_eq!(paths, ["/allowed", "/blocked"]);
}

#[actix_web::test]
async fn rul_4_a_dry_run_queues_no_webhook() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;

    let input = json!({"entityType": "x.y", "dryRun": true});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
    fixture.app.run_jobs().await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    assert_eq!(
        (&result["success"], &result["simulated"]),
        (&json!(true), &json!(true)),
        "{body}"
    );
    assert!(receiver.received().is_empty() && deliveries(&fixture).await.is_empty() && logs(&fixture).await.is_empty());
}

#[actix_web::test]
async fn webhooks_are_erased_after_30_days() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;
    let erase = async || {
        let call = Call::internal(fixture.app.runtime());
        backoffice_core::jobs::enqueue_due(&call).await.expect("enqueued");
        fixture.app.run_jobs().await;
        fixture
            .app
            .rows("select id from business_rules_webhook_deliveries")
            .await
            .len()
    };
    erase().await;

    fixture.app.advance(Duration::days(29));
    assert_eq!(erase().await, 1);
    fixture.app.advance(Duration::days(2));
    assert_eq!(erase().await, 0);
}

#[actix_web::test]
async fn a_webhook_of_a_deleted_tenant_is_not_sent_until_the_tenant_is_back() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    fixture.create(RULES, calling(&receiver.url("/"), json!({}))).await;
    let queued = execute(&fixture, json!({})).await;
    fixture.delete_alpha().await;
    let stored = async || {
        let sql = "select status, attempts, error from business_rules_webhook_deliveries";
        fixture.app.rows(sql).await
    };

    fixture.app.run_jobs().await;

    let failed = json!({"status": "failed", "attempts": 0, "error": "tenant_deleted"});
    assert_eq!((receiver.received().len(), stored().await), (0, vec![failed]));
    let announced = "core_outbox_events where name = 'business_rules.rule.execution_failed'";
    assert_eq!(fixture.app.count(announced).await, 0);
    assert_eq!(fixture.app.count("business_rules_webhook_secrets").await, 0);
    fixture.restore_alpha().await;
    let call = Call::internal(fixture.app.runtime());
    let id = queued["deliveryId"].as_str().expect("an id").parse().expect("an id");
    retry_webhook(&call, id).await.expect("queued");
    fixture.app.run_jobs().await;
    let sent = json!({"status": "sent", "attempts": 1, "error": null});
    assert_eq!((receiver.received().len(), stored().await), (1, vec![sent]));
}

#[actix_web::test]
async fn operators_list_webhooks_and_send_failed_ones_again() {
    let (fixture, receiver) = (fixture_with(LOCAL).await, Receiver::start().await);
    receiver.statuses(&[410, 200]);
    fixture
        .create(RULES, calling(&receiver.url("/secret"), json!({})))
        .await;
    execute(&fixture, json!({})).await;
    fixture.app.run_jobs().await;
    let call = || Call::internal(fixture.app.runtime());
    let list = async |tenant, all| list_webhooks(&call(), tenant, all).await.expect("a list");

    let failed = list(None, false).await;
    let of_another = list(Some(fixture.b.id), true).await;
    let unknown = retry_webhook(&call(), Uuid::nil()).await.expect_err("unknown");
    retry_webhook(&call(), failed[0].id).await.expect("queued");
    let pending = list(Some(fixture.a.id), false).await;
    fixture.app.run_jobs().await;
    let again = retry_webhook(&call(), failed[0].id).await.expect_err("sent");

    let shown = |one: &WebhookSummary| (one.tenant_id, one.status.clone(), one.attempts, one.host.clone());
    let tenant = fixture.a.id;
    let of = |status: &str, attempts| vec![(tenant, status.to_owned(), attempts, "127.0.0.1".to_owned())];
    assert_eq!(failed.iter().map(shown).collect::<Vec<_>>(), of("failed", 1));
    assert_eq!(pending.iter().map(shown).collect::<Vec<_>>(), of("pending", 0));
    assert_eq!((of_another.len(), list(None, false).await.len()), (0, 0));
    assert_eq!(
        list(None, true).await.iter().map(shown).collect::<Vec<_>>(),
        of("sent", 1)
    );
    assert_eq!(unknown.to_rejection().status, 404);
    assert_eq!(again.to_rejection().status, 409);
}
