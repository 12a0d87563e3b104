//! Names and messages of the changes that rules validate.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{DEALS, RULES, deal, fixture, logs, message, rule, with};

#[actix_web::test]
async fn a_rule_sees_and_logs_the_name_of_the_change_for_which_it_applies() {
    let fixture = fixture().await;
    let id = deal(&fixture, "D").await;
    let shows = json!({"successActions": [message("SHOW_WARNING", "{{eventType}}")]});
    for (key, event) in [
        ("any", None),
        ("assigned", Some("owner_assigned")),
        ("updated", Some("updated")),
    ] {
        let body = with(rule(key, "VALIDATION", "customers.deal"), shows.clone());
        fixture.create(RULES, with(body, json!({"eventType": event}))).await;
    }

    let body = json!({"id": id, "ownerUserId": fixture.a.admin});
    let (status, body) = fixture.app.put(&fixture.a.token, DEALS, body).await;

    assert_eq!(status, 200, "{body}");
    let logs = logs(&fixture).await;
    for (key, event) in [
        ("any", "updated"),
        ("assigned", "owner_assigned"),
        ("updated", "updated"),
    ] {
        let log = logs.iter().find(|log| log["ruleKey"] == key).expect("a log");
        assert_eq!(log["inputContext"]["eventType"], event, "{key}");
        assert_eq!(log["outputContext"]["messages"][0]["message"], event, "{key}");
    }
    assert_eq!(logs.len(), 3);
}

#[actix_web::test]
async fn a_repeated_command_has_the_messages_of_the_first_response() {
    let fixture = fixture().await;
    let shows = json!({"successActions": [message("SHOW_WARNING", "Careful")]});
    fixture
        .create(RULES, with(rule("r1", "VALIDATION", "customers.deal"), shows))
        .await;
    let create = async || {
        let request = fixture.app.request(Method::POST, DEALS).bearer(&fixture.a.token);
        let request = request.header("Idempotency-Key", "k1");
        request.json(&json!({"title": "D"})).send().await
    };

    let (first, repeated) = (create().await, create().await);

    let shown = first.header("X-Rule-Messages");
    assert!(
        shown.as_deref().is_some_and(|shown| shown.contains("Careful")),
        "{shown:?}"
    );
    assert_eq!(repeated.header("Idempotency-Replayed").as_deref(), Some("true"));
    assert_eq!((repeated.status, repeated.json()), (201, first.json()));
    assert_eq!(repeated.header("X-Rule-Messages"), shown);
    assert_eq!(repeated.operation(), first.operation());
}

#[actix_web::test]
async fn a_message_without_a_text_is_not_the_reason_of_a_rejection() {
    let fixture = fixture().await;
    let usual = "Blocked by business rule";
    for (number, (actions, error, reason)) in [
        (json!([message("SHOW_ERROR", "")]), usual, Value::Null),
        (json!([message("SHOW_ERROR", "{{missing}} ")]), usual, Value::Null),
        (json!([message("BLOCK_TRANSITION", "")]), usual, Value::Null),
        (
            json!([message("SHOW_INFO", ""), message("SHOW_ERROR", "Too late")]),
            "Too late",
            json!("Too late"),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let body = with(
            rule(&format!("r{number}"), "VALIDATION", "customers.deal"),
            json!({"successActions": actions}),
        );
        let id = fixture.create(RULES, body).await;

        let request = fixture.app.request(Method::POST, DEALS).bearer(&fixture.a.token);
        let request = request.json(&json!({"title": "D"})).responded_by_interceptor();
        let blocked = request.send().await;

        let body = blocked.json();
        assert_eq!((blocked.status, &body["error"]), (422, &json!(error)), "{body}");
        assert_eq!(body["rules"][0]["message"], reason, "{body}");
        let deletion = format!("{RULES}?id={id}");
        let deleted = fixture.app.delete(&fixture.a.token, &deletion, Value::Null).await;
        assert_eq!(deleted.0, 200, "{}", deleted.1);
    }
}
