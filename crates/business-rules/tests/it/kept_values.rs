//! Secret headers of several webhooks for one receiver, kept by a client that sends `[redacted]` back.

use backoffice_test_accounts::TwoTenants;
use backoffice_test_support::details;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{RULES, action, fixture, message, rule, with};

const KEPT: &str = "[redacted]";

fn hook(path: &str, authorization: &str, body: i32) -> Value {
    let config = json!({
        "url": format!("https://hooks.example{path}"), "headers": {"Authorization": authorization}, "body": {"n": body},
    });
    action("CALL_WEBHOOK", config)
}

fn kept(path: &str, body: i32) -> Value {
    hook(path, KEPT, body)
}

/// Returns the ids of the values that the webhooks of a rule name, those of its successful branch first.
async fn values(fixture: &TwoTenants, id: Uuid) -> Vec<Value> {
    let sql = format!(
        "select a.value->'config'->'headers'->'Authorization'->>'sealed' as id from business_rules_rules r,
            jsonb_array_elements(r.success_actions || r.failure_actions) with ordinality a
        where r.id = '{id}' and a.value->>'type' = 'CALL_WEBHOOK' order by a.ordinality"
    );
    let rows = fixture.app.rows(&sql).await;
    rows.into_iter().map(|row| row["id"].clone()).collect()
}

/// Creates a rule with two webhooks for one receiver. Returns it with the ids of their values.
async fn created(fixture: &TwoTenants, key: &str) -> (Uuid, [Value; 2]) {
    let actions = json!([hook("/a", "Bearer a", 1), hook("/b", "Bearer b", 1)]);
    let body = with(rule(key, "ACTION", "x.y"), json!({"successActions": actions}));
    let id = fixture.create(RULES, body).await;
    let values: [Value; 2] = values(fixture, id).await.try_into().expect("two values");
    assert!(values[0].is_string() && values[0] != values[1], "{values:?}");
    (id, values)
}

#[actix_web::test]
async fn each_webhook_keeps_its_own_value() {
    let fixture = fixture().await;
    let text = message("SHOW_INFO", "x");
    // The requested actions, and which of the stored values they keep.
    let changes: [(&str, Value, &[usize]); 10] = [
        ("unchanged", json!([kept("/a", 1), kept("/b", 1)]), &[0, 1]),
        ("other bodies", json!([kept("/a", 2), kept("/b", 3)]), &[0, 1]),
        ("reordered", json!([kept("/b", 1), kept("/a", 1)]), &[1, 0]),
        (
            "reordered with other bodies",
            json!([kept("/b", 2), kept("/a", 2)]),
            &[1, 0],
        ),
        ("one removed", json!([kept("/b", 1)]), &[1]),
        ("one removed and one with another body", json!([kept("/b", 2)]), &[1]),
        (
            "another action first",
            json!([text, kept("/a", 1), kept("/b", 2)]),
            &[0, 1],
        ),
        ("another address", json!([kept("/a", 1), kept("/c", 1)]), &[0, 1]),
        ("other addresses", json!([kept("/d", 1), kept("/c", 1)]), &[0, 1]),
        (
            "one twice",
            json!([kept("/a", 1), kept("/a", 1), kept("/b", 1)]),
            &[0, 0, 1],
        ),
    ];
    for (number, (name, actions, expected)) in changes.into_iter().enumerate() {
        let (id, stored) = created(&fixture, &format!("r{number}")).await;

        let body = json!({"id": id, "successActions": actions});
        let (status, body) = fixture.app.put(&fixture.a.token, RULES, body).await;

        assert_eq!(status, 200, "{name}: {body}");
        let expected: Vec<Value> = expected.iter().map(|index| stored[*index].clone()).collect();
        assert_eq!(values(&fixture, id).await, expected, "{name}");
    }
}

#[actix_web::test]
async fn values_move_with_their_webhooks_to_the_other_branch() {
    let fixture = fixture().await;
    let (id, [a, b]) = created(&fixture, "r1").await;

    let body = json!({"id": id, "successActions": [kept("/b", 1)], "failureActions": [kept("/a", 2)]});
    let (status, body) = fixture.app.put(&fixture.a.token, RULES, body).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(values(&fixture, id).await, [b, a]);
}

#[actix_web::test]
async fn a_value_that_could_be_one_of_several_is_required() {
    let fixture = fixture().await;
    let (id, stored) = created(&fixture, "r1").await;
    for (actions, index) in [
        (json!([kept("/c", 1)]), 0),
        (json!([kept("/c", 1), kept("/a", 1)]), 0),
        (json!([kept("/a", 1), kept("/b", 1), kept("/c", 1)]), 2),
        (json!([message("SHOW_INFO", "x"), kept("/a", 1), kept("/c", 1)]), 2),
    ] {
        let body = json!({"id": id, "successActions": actions});
        let (status, body) = fixture.app.put(&fixture.a.token, RULES, body).await;

        let path = format!("successActions[{index}].config.headers");
        assert_eq!(
            (status, details(&body)),
            (400, vec![(path.as_str(), "secrets_required")]),
            "{body}"
        );
    }
    assert_eq!(values(&fixture, id).await, stored);

    let actions = json!([hook("/c", "Bearer c", 1), kept("/a", 1)]);
    let body = json!({"id": id, "successActions": actions});
    assert_eq!(fixture.app.put(&fixture.a.token, RULES, body).await.0, 200);
    assert_eq!(values(&fixture, id).await[1], stored[0]);
}
