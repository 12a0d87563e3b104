//! Users whom rules notify.

use serde_json::json;

use crate::fixture::{EXECUTE, RULES, action, fixture, rule, with};

#[actix_web::test]
async fn names_of_roles_are_compared_as_those_of_accounts() {
    let fixture = fixture().await;
    // In most locales PostgreSQL and Rust convert both words to different lower case.
    let role = "İŞÇİ ΟΔΗΓΟΣ";
    fixture.role(role, &["customers.*"], None).await;
    let (_, token) = fixture.user("driver@alpha.test", &[role]).await;
    let notify = json!({"message": "m", "recipients": [format!("role:{role}")]});
    let actions = json!({"successActions": [action("NOTIFY", notify)]});
    fixture.create(RULES, with(rule("r1", "ACTION", "x.y"), actions)).await;

    let (_, body) = fixture
        .app
        .post(&fixture.a.token, EXECUTE, json!({"entityType": "x.y"}))
        .await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    assert_eq!(
        (&result["success"], &result["recipients"], &result["skipped"]),
        (&json!(true), &json!(1), &json!([])),
        "{body}"
    );
    let (_, page) = fixture.app.get(&token, "/notifications").await;
    assert_eq!(page["total"], 1);
}
