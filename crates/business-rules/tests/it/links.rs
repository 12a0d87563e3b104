//! Links of notifications: paths of the console, and pages.

use backoffice_test_support::details;
use serde_json::{Value, json};

use crate::fixture::{EXECUTE, RULES, action, fixture, rule, with};

fn notifying(key: &str, link: &str) -> Value {
    let notify = json!({"message": "m", "recipients": ["role:admin"], "linkHref": link});
    let actions = json!({"successActions": [action("NOTIFY", notify)]});
    with(rule(key, "ACTION", "x.y"), actions)
}

#[actix_web::test]
async fn a_link_outside_of_the_console_and_the_pages_is_rejected() {
    let fixture = fixture().await;
    for link in [
        "/elsewhere",
        "/backends",
        "/{{data.path}}",
        "{{data.path}}",
        "/backend{{data.path}}",
        "/backend/../x",
        "/backend/%2E./x",
        "/backend/\\..\\x",
        "//backend/x",
        "https://example.com/backend/",
        "/api/auth/logout",
        "/login{{data.path}}",
    ] {
        let (status, body) = fixture.app.post(&fixture.a.token, RULES, notifying("r", link)).await;

        assert_eq!(status, 400, "{link}: {body}");
        let expected = [("successActions[0].config.linkHref", "invalid_value")];
        assert_eq!(details(&body), expected, "{link}");
    }
    for (number, link) in [
        "/backend",
        "/backend/deals/{{data.path}}",
        "/backend/deals?id={{entityId}}",
        "/login",
        "/login?next={{data.path}}",
    ]
    .into_iter()
    .enumerate()
    {
        fixture.create(RULES, notifying(&format!("r{number}"), link)).await;
    }
}

#[actix_web::test]
async fn a_link_does_not_leave_the_console_by_its_values() {
    let fixture = fixture().await;
    fixture
        .create(RULES, notifying("r", "/backend/deals/{{data.path}}"))
        .await;

    for (path, expected) in [
        ("1?a=../b", Value::Null),
        ("../../elsewhere", json!("invalid_link")),
        ("%2e%2E/x", json!("invalid_link")),
        ("..\\..\\x", json!("invalid_link")),
        ("a\nb", json!("invalid_link")),
    ] {
        let input = json!({"entityType": "x.y", "data": {"path": path}});
        let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;
        let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
        assert_eq!(result["error"], expected, "{path}");
    }
    let (_, page) = fixture.app.get(&fixture.a.token, "/notifications").await;
    assert_eq!(
        (&page["total"], &page["items"][0]["linkHref"]),
        (&json!(1), &json!("/backend/deals/1?a=../b"))
    );
}

#[actix_web::test]
async fn a_stored_link_that_leads_elsewhere_is_not_sent() {
    let fixture = fixture().await;
    fixture.create(RULES, notifying("r", "/backend/deals")).await;
    let sql = "update business_rules_rules set success_actions = jsonb_set(success_actions, '{0,config,linkHref}', '\"/elsewhere\"')";
    assert_eq!(fixture.app.sql(sql).await, 1);

    let (_, body) = fixture
        .app
        .post(&fixture.a.token, EXECUTE, json!({"entityType": "x.y"}))
        .await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    assert_eq!(result["error"], "invalid_link", "{body}");
}
