//! Users whom rules notify.

use backoffice_test_accounts::TwoTenants;
use serde_json::{Value, json};

use crate::fixture::{EXECUTE, RULES, action, fixture, rule, with};

/// Creates a role of Alpha that a thousand users have.
pub(crate) async fn crowd(fixture: &TwoTenants) {
    let role = fixture.role("Crowd", &["customers.*"], None).await;
    let tenant = fixture.a.id;
    let users = format!(
        "insert into auth_users (tenant_id, id, email, email_norm, is_active, is_confirmed, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), 'u' || n || '@crowd.test', 'u' || n || '@crowd.test', true, true, now(), now()
         from generate_series(1, 1000) n"
    );
    assert_eq!(fixture.app.sql(&users).await, 1000);
    let roles = format!(
        "insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), id, '{tenant}', '{role}', now(), now()
         from auth_users where tenant_id = '{tenant}' and email like 'u%@crowd.test'"
    );
    assert_eq!(fixture.app.sql(&roles).await, 1000);
}

/// Returns an action that notifies a user or the users of a role.
pub(crate) fn notify(recipient: &str) -> Value {
    action("NOTIFY", json!({"message": "m", "recipients": [recipient]}))
}

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

#[actix_web::test]
async fn the_notifications_of_a_run_have_at_most_ten_thousand_recipients() {
    let fixture = fixture().await;
    crowd(&fixture).await;
    let mut actions = vec![notify("role:Crowd"); 10];
    actions.extend([notify("role:admin"), notify("role:nobody")]);
    let fields = json!({"successActions": actions});
    fixture.create(RULES, with(rule("r1", "ACTION", "x.y"), fields)).await;

    let input = json!({"entityType": "x.y"});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let results = &body["executedRules"][0]["actionsExecuted"]["results"];
    let outcome = |action: usize| (&results[action]["recipients"], &results[action]["error"]);
    for action in 0..10 {
        assert_eq!(outcome(action), (&json!(1000), &Value::Null), "{action}");
    }
    assert_eq!(outcome(10), (&json!(0), &json!("too_many_recipients")));
    assert_eq!(outcome(11), (&json!(0), &json!("no_recipients")));
    assert_eq!(fixture.app.count("notifications_notifications").await, 10_000);
}

#[actix_web::test]
async fn a_user_with_an_address_is_found_beside_a_role_of_ten_thousand() {
    let fixture = fixture().await;
    let role = fixture.role("Crowd", &["customers.*"], None).await;
    let tenant = fixture.a.id;
    // Their ids come before the administrator's.
    let users = format!(
        "insert into auth_users (tenant_id, id, email, email_norm, is_active, is_confirmed, created_at, updated_at)
         select '{tenant}', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'u' || n, 'u' || n, true, true, now(), now()
         from generate_series(1, 10000) n"
    );
    assert_eq!(fixture.app.sql(&users).await, 10_000);
    let roles = format!(
        "insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
         select '{tenant}', gen_random_uuid(), id, '{tenant}', '{role}', now(), now()
         from auth_users where tenant_id = '{tenant}' and id::text like '00000000-%'"
    );
    assert_eq!(fixture.app.sql(&roles).await, 10_000);
    let fields = json!({"successActions": [notify("role:Crowd"), notify("admin@alpha.test")]});
    fixture.create(RULES, with(rule("r1", "ACTION", "x.y"), fields)).await;

    let input = json!({"entityType": "x.y"});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let results = &body["executedRules"][0]["actionsExecuted"]["results"];
    assert_eq!(results[0]["recipients"], 1000, "{body}");
    assert_eq!(results[1]["recipients"], 1, "{body}");
}

#[actix_web::test]
async fn the_names_of_more_than_a_thousand_recipients_are_skipped() {
    let fixture = fixture().await;
    crowd(&fixture).await;
    fixture.user("one@alpha.test", &["Crowd"]).await;
    let recipients = json!({"message": "m", "recipients": ["admin@alpha.test", "u1@crowd.test", "role:Crowd"]});
    let fields = json!({"successActions": [action("NOTIFY", recipients)]});
    fixture.create(RULES, with(rule("r1", "ACTION", "x.y"), fields)).await;

    let input = json!({"entityType": "x.y"});
    let (_, body) = fixture.app.post(&fixture.a.token, EXECUTE, input).await;

    let result = &body["executedRules"][0]["actionsExecuted"]["results"][0];
    assert_eq!(
        (&result["success"], &result["recipients"], &result["skipped"]),
        (&json!(true), &json!(1000), &json!(["role:Crowd"])),
        "{body}"
    );
}

#[actix_web::test]
async fn a_role_without_features_adds_no_organization_to_the_scope_of_a_user() {
    let fixture = fixture().await;
    let branch = fixture.organization("Branch", None).await;
    let home = fixture.a.organization;
    fixture.role("At home", &["customers.*"], Some(&[home])).await;
    fixture.role("Everywhere", &[], None).await;
    fixture.role("In the branch", &[], Some(&[branch])).await;
    let roles = ["At home", "Everywhere", "In the branch"];
    let (user, _) = fixture.user("home@alpha.test", &roles).await;
    let notify = action("NOTIFY", json!({"message": "m", "recipients": [user]}));
    let fields = json!({"organizationId": branch, "successActions": [notify]});
    let id = fixture.create(RULES, with(rule("r1", "ACTION", "x.y"), fields)).await;

    let (_, body) = fixture
        .app
        .post(&fixture.a.token, &format!("{EXECUTE}/{id}"), json!({}))
        .await;

    let result = &body["actionsExecuted"]["results"][0];
    assert_eq!(
        (&result["recipients"], &result["error"]),
        (&json!(0), &json!("no_recipients")),
        "{body}"
    );
}
