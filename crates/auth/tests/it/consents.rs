use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::fixture::{CONFIG, Fixture, NO_LIMITS, login};

async fn decide(fixture: &Fixture, token: &str, consent_type: &str, is_granted: bool) -> Value {
    let body = json!({"consentType": consent_type, "isGranted": is_granted});
    let (status, body) = fixture.app.put(token, "/auth/profile/consents", body).await;
    assert_eq!((status, body["ok"].as_bool()), (200, Some(true)), "{body}");
    body["item"].clone()
}

async fn list(fixture: &Fixture, token: &str) -> Vec<Value> {
    let (status, body) = fixture.app.get(token, "/auth/profile/consents").await;
    assert_eq!((status, body["ok"].as_bool()), (200, Some(true)), "{body}");
    body["items"].as_array().expect("a list").clone()
}

#[actix_web::test]
async fn a_decision_is_recorded_with_its_time_and_place() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;

    let granted = decide(&fixture, token, "marketing.mail", true).await;
    fixture.app.advance(Duration::seconds(60));
    let withdrawn = decide(&fixture, token, "marketing.mail", false).await;
    fixture.app.advance(Duration::seconds(60));
    let other = decide(&fixture, token, "terms", false).await;

    assert_eq!(granted["grantedAt"], "2026-11-20T08:00:00.000Z");
    assert_eq!(
        (&granted["withdrawnAt"], &granted["source"], &granted["ipAddress"]),
        (&Value::Null, &json!("profile"), &json!("127.0.0.1"))
    );
    assert_eq!(withdrawn["id"], granted["id"]);
    assert_eq!(withdrawn["grantedAt"], granted["grantedAt"]);
    assert_eq!(withdrawn["withdrawnAt"], "2026-11-20T08:01:00.000Z");
    assert_eq!(withdrawn["integrityVerified"], true);
    assert_eq!(list(&fixture, token).await, [other, withdrawn], "newest first");
    let events = fixture
        .app
        .rows("select name from core_outbox_events where name like 'auth.consent.%' order by seq")
        .await;
    assert_eq!(events.len(), 3, "{events:?}");
}

#[actix_web::test]
async fn the_same_decision_again_writes_nothing() {
    let fixture = Fixture::new().await;
    let first = decide(&fixture, &fixture.a.token, "terms", true).await;
    fixture.app.advance(Duration::seconds(60));
    let tables = ["auth_consents", "audit_action_logs", "core_outbox_events"];
    let before = fixture.app.snapshot().await;

    let second = decide(&fixture, &fixture.a.token, "terms", true).await;

    assert_eq!(second, first);
    let after = fixture.app.snapshot().await;
    for table in tables {
        assert_eq!(after[table], before[table], "{table}");
    }
}

#[actix_web::test]
async fn a_consent_is_not_undone_and_malformed_ones_are_rejected() {
    let fixture = Fixture::new().await;
    let put = |body: Value| {
        fixture
            .app
            .request(Method::PUT, "/auth/profile/consents")
            .bearer(&fixture.a.token)
            .json(&body)
    };

    let response = put(json!({"consentType": "terms", "isGranted": true})).send().await;

    assert_eq!((response.status, response.operation()), (200, None));
    for bad in [
        json!({"consentType": "", "isGranted": true}),
        json!({"consentType": "Terms", "isGranted": true}),
        json!({"consentType": "1terms", "isGranted": true}),
        json!({"consentType": "t".repeat(65), "isGranted": true}),
        json!({"consentType": "terms", "isGranted": "yes"}),
        json!({"consentType": "terms"}),
    ] {
        let response = put(bad.clone()).send().await;
        assert_eq!(
            (response.status, response.json()["ok"].as_bool()),
            (400, Some(false)),
            "{bad}"
        );
    }
}

#[actix_web::test]
async fn administrators_read_the_consents_of_users_that_they_see() {
    let fixture = Fixture::new().await;
    let (id, token) = fixture.user("ann@alpha.test", &[]).await;
    let item = decide(&fixture, &token, "terms", true).await;
    let path = format!("/auth/users/consents?userId={id}");

    let (status, body) = fixture.app.get(&fixture.a.token, &path).await;
    let (foreign, text) = fixture.app.get(&fixture.b.token, &path).await;
    let (missing, _) = fixture.app.get(&token, &path).await;
    let (by_root, _) = fixture.app.get(&fixture.root, &path).await;
    let (malformed, shape) = fixture.app.get(&fixture.a.token, "/auth/users/consents?userId=x").await;

    assert_eq!((status, by_root), (200, 200));
    assert_eq!(
        body,
        json!({"ok": true, "items": [item], "total": 1, "page": 1, "pageSize": 50, "totalPages": 1})
    );
    assert_eq!((foreign, text), (404, json!({"ok": false, "error": "User not found"})));
    assert_eq!(missing, 403);
    assert_eq!(
        (malformed, &shape["ok"], &shape["error"]),
        (400, &json!(false), &json!("Invalid userId"))
    );
    assert!(list(&fixture, &fixture.a.token).await.is_empty());
}

#[actix_web::test]
async fn acc_38_a_consent_that_was_changed_by_sql_is_noticed() {
    let fixture = Fixture::new().await;
    let (other, other_token) = fixture.user("ann@alpha.test", &[]).await;
    decide(&fixture, &fixture.a.token, "terms", true).await;
    let verified = async |token: &str| list(&fixture, token).await[0]["integrityVerified"].clone();
    let response = fixture.app.request(Method::GET, "/auth/profile/consents");
    let tag = response.bearer(&fixture.a.token).send().await.header("etag");
    assert_eq!(tag, None, "a client would keep the list as it was before the change");
    assert_eq!(verified(&fixture.a.token).await, true);

    fixture
        .app
        .sql("create table consent_before as select id as before, granted_at as granted from auth_consents")
        .await;
    for (change, back) in [
        ("is_granted = false", "is_granted = true"),
        (
            "granted_at = granted_at + interval '1 ms'",
            "granted_at = granted_at - interval '1 ms'",
        ),
        ("withdrawn_at = granted_at", "withdrawn_at = null"),
        ("consent_type = 'other'", "consent_type = 'terms'"),
        (
            "id = '01940000-0000-7000-8000-000000000001'",
            "id = (select before from consent_before)",
        ),
        ("granted_at = null", "granted_at = (select granted from consent_before)"),
        ("ip_address = null", "ip_address = '127.0.0.1'"),
        ("source = 'import'", "source = 'profile'"),
        ("source = null", "source = 'profile'"),
        ("ip_address = '10.0.0.1'", "ip_address = '127.0.0.1'"),
        ("integrity_kid = 'other'", "integrity_kid = 'test'"),
        (
            "integrity = integrity || '\\x00'",
            "integrity = substr(integrity, 1, 32)",
        ),
    ] {
        fixture.app.sql(&format!("update auth_consents set {change}")).await;
        assert_eq!(verified(&fixture.a.token).await, false, "{change}");
        fixture.app.sql(&format!("update auth_consents set {back}")).await;
        assert_eq!(verified(&fixture.a.token).await, true, "{back}");
    }
    let moved = format!("tenant_id = '{}', user_id = '{}'", fixture.b.id, fixture.b.admin);
    fixture.app.sql(&format!("update auth_consents set {moved}")).await;
    assert_eq!(verified(&fixture.b.token).await, false);
    fixture
        .app
        .sql(&format!(
            "update auth_consents set tenant_id = '{}', user_id = '{other}'",
            fixture.a.id
        ))
        .await;
    assert_eq!(verified(&other_token).await, false);
    let again = login(&fixture.app, "ann@alpha.test").await;
    assert_eq!(verified(&again).await, false);
}

#[actix_web::test]
async fn a_decision_confirms_nothing_that_was_changed_by_sql() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let granted = decide(&fixture, token, "terms", true).await;
    fixture
        .app
        .sql("update auth_consents set granted_at = '2020-01-01'")
        .await;

    let withdrawn = decide(&fixture, token, "terms", false).await;

    assert_eq!(
        (&withdrawn["grantedAt"], &withdrawn["integrityVerified"]),
        (&Value::Null, &json!(true)),
        "{withdrawn}"
    );
    assert_eq!(
        (&withdrawn["id"], &withdrawn["createdAt"]),
        (&granted["id"], &granted["createdAt"])
    );
    fixture
        .app
        .sql("update auth_consents set is_granted = true, withdrawn_at = null")
        .await;

    // The decision that the changed row shows already is a new one.
    let again = decide(&fixture, token, "terms", true).await;
    assert_eq!(
        (again["grantedAt"].is_string(), &again["integrityVerified"]),
        (true, &json!(true)),
        "{again}"
    );
}

#[actix_web::test]
async fn acc_38_a_consent_is_verified_after_a_rotation_until_its_key_is_removed() {
    let fixture = Fixture::new().await;
    let (user, token) = fixture.user("ann@alpha.test", &[]).await;
    decide(&fixture, &token, "terms", true).await;
    let old = r#"{ kid = "test", secret = "abcdefghijabcdefghijabcdefghijabcdefghij" }"#;
    let next = r#"{ kid = "next", secret = "jihgfedcbajihgfedcbajihgfedcbajihgfedcba" }"#;
    assert!(CONFIG.contains(old));
    let with_keys = |keys: &str| format!("{}{NO_LIMITS}", CONFIG.replace(old, keys));

    let rotated = fixture
        .app
        .second_node_with(&with_keys(&format!("{next}, {old}")))
        .await;
    let removed = fixture.app.second_node_with(&with_keys(next)).await;

    let path = format!("/auth/users/consents?userId={user}");
    for (node, expected) in [(&rotated, true), (&removed, false)] {
        let (_, own) = node.get(&token, "/auth/profile/consents").await;
        let (_, seen) = node.get(&fixture.a.token, &path).await;
        assert_eq!(own["items"][0]["integrityVerified"], expected);
        assert_eq!(seen["items"][0]["integrityVerified"], expected);
    }
    let body = json!({"consentType": "news", "isGranted": true});
    assert_eq!(rotated.put(&token, "/auth/profile/consents", body).await.0, 200);
    let kids = "select consent_type, integrity_kid from auth_consents order by consent_type";
    assert_eq!(
        fixture.app.rows(kids).await,
        [
            json!({"consent_type": "news", "integrity_kid": "next"}),
            json!({"consent_type": "terms", "integrity_kid": "test"})
        ]
    );
}

#[actix_web::test]
async fn first_decisions_at_the_same_moment_are_all_taken() {
    let fixture = Fixture::new().await;
    for round in 0..5 {
        let body = json!({"consentType": format!("newsletter.{round}"), "isGranted": true});
        let decisions = (0..8).map(|_| {
            fixture
                .app
                .put(&fixture.a.token, "/auth/profile/consents", body.clone())
        });

        let responses = futures_util::future::join_all(decisions).await;

        for (status, response) in &responses {
            assert_eq!(
                (*status, &response["item"]["id"]),
                (200, &responses[0].1["item"]["id"]),
                "{response}"
            );
            assert_eq!(response["item"]["integrityVerified"], true);
        }
    }
    assert_eq!(fixture.app.rows("select id from auth_consents").await.len(), 5);
}
