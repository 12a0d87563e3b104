use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::world::{CONFIG, NO_LIMITS, World, login};

async fn decide(world: &World, token: &str, consent_type: &str, is_granted: bool) -> Value {
    let body = json!({"consentType": consent_type, "isGranted": is_granted});
    let (status, body) = world.app.put(token, "/auth/profile/consents", body).await;
    assert_eq!((status, body["ok"].as_bool()), (200, Some(true)), "{body}");
    body["item"].clone()
}

async fn list(world: &World, token: &str) -> Vec<Value> {
    let (status, body) = world.app.get(token, "/auth/profile/consents").await;
    assert_eq!((status, body["ok"].as_bool()), (200, Some(true)), "{body}");
    body["items"].as_array().expect("a list").clone()
}

#[actix_web::test]
async fn a_decision_is_recorded_with_its_time_and_place() {
    let world = World::new().await;
    let token = &world.a.token;

    let granted = decide(&world, token, "marketing.mail", true).await;
    world.app.advance(Duration::seconds(60));
    let withdrawn = decide(&world, token, "marketing.mail", false).await;
    world.app.advance(Duration::seconds(60));
    let other = decide(&world, token, "terms", false).await;

    assert_eq!(granted["grantedAt"], "2026-11-20T08:00:00.000Z");
    assert_eq!(
        (&granted["withdrawnAt"], &granted["source"], &granted["ipAddress"]),
        (&Value::Null, &json!("profile"), &json!("127.0.0.1"))
    );
    assert_eq!(withdrawn["id"], granted["id"]);
    assert_eq!(withdrawn["grantedAt"], granted["grantedAt"]);
    assert_eq!(withdrawn["withdrawnAt"], "2026-11-20T08:01:00.000Z");
    assert_eq!(withdrawn["integrityVerified"], true);
    assert_eq!(list(&world, token).await, [other, withdrawn], "newest first");
    let events = world
        .app
        .rows("select name from core_outbox_events where name like 'auth.consent.%' order by seq")
        .await;
    assert_eq!(events.len(), 3, "{events:?}");
}

#[actix_web::test]
async fn the_same_decision_again_writes_nothing() {
    let world = World::new().await;
    let first = decide(&world, &world.a.token, "terms", true).await;
    world.app.advance(Duration::seconds(60));
    let tables = ["auth_consents", "audit_action_logs", "core_outbox_events"];
    let before = world.app.image().await;

    let second = decide(&world, &world.a.token, "terms", true).await;

    assert_eq!(second, first);
    let after = world.app.image().await;
    for table in tables {
        assert_eq!(after[table], before[table], "{table}");
    }
}

#[actix_web::test]
async fn a_consent_is_not_undone_and_malformed_ones_are_refused() {
    let world = World::new().await;
    let put = |body: Value| {
        world
            .app
            .request(Method::PUT, "/auth/profile/consents")
            .bearer(&world.a.token)
            .json(&body)
    };

    let answer = put(json!({"consentType": "terms", "isGranted": true})).send().await;

    assert_eq!((answer.status, answer.operation()), (200, None));
    for bad in [
        json!({"consentType": "", "isGranted": true}),
        json!({"consentType": "Terms", "isGranted": true}),
        json!({"consentType": "1terms", "isGranted": true}),
        json!({"consentType": "t".repeat(65), "isGranted": true}),
        json!({"consentType": "terms", "isGranted": "yes"}),
        json!({"consentType": "terms"}),
    ] {
        let answer = put(bad.clone()).send().await;
        assert_eq!(
            (answer.status, answer.json()["ok"].as_bool()),
            (400, Some(false)),
            "{bad}"
        );
    }
}

#[actix_web::test]
async fn administrators_read_the_consents_of_users_that_they_see() {
    let world = World::new().await;
    let (id, token) = world.user("ann@alpha.test", &[]).await;
    let item = decide(&world, &token, "terms", true).await;
    let path = format!("/auth/users/consents?userId={id}");

    let (status, body) = world.app.get(&world.a.token, &path).await;
    let (foreign, text) = world.app.get(&world.b.token, &path).await;
    let (missing, _) = world.app.get(&token, &path).await;
    let (by_root, _) = world.app.get(&world.root, &path).await;
    let (malformed, shape) = world.app.get(&world.a.token, "/auth/users/consents?userId=x").await;

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
    assert!(list(&world, &world.a.token).await.is_empty());
}

#[actix_web::test]
async fn acc_38_a_consent_that_was_changed_by_sql_is_noticed() {
    let world = World::new().await;
    let (other, other_token) = world.user("ann@alpha.test", &[]).await;
    decide(&world, &world.a.token, "terms", true).await;
    let verified = async |token: &str| list(&world, token).await[0]["integrityVerified"].clone();
    assert_eq!(verified(&world.a.token).await, true);

    world
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
        world.app.sql(&format!("update auth_consents set {change}")).await;
        assert_eq!(verified(&world.a.token).await, false, "{change}");
        world.app.sql(&format!("update auth_consents set {back}")).await;
        assert_eq!(verified(&world.a.token).await, true, "{back}");
    }
    let moved = format!("tenant_id = '{}', user_id = '{}'", world.b.id, world.b.admin);
    world.app.sql(&format!("update auth_consents set {moved}")).await;
    assert_eq!(verified(&world.b.token).await, false);
    world
        .app
        .sql(&format!(
            "update auth_consents set tenant_id = '{}', user_id = '{other}'",
            world.a.id
        ))
        .await;
    assert_eq!(verified(&other_token).await, false);
    let again = login(&world.app, "ann@alpha.test").await;
    assert_eq!(verified(&again).await, false);
}

#[actix_web::test]
async fn acc_38_a_consent_is_verified_after_a_rotation_and_not_once_its_key_is_gone() {
    let world = World::new().await;
    let (user, token) = world.user("ann@alpha.test", &[]).await;
    decide(&world, &token, "terms", true).await;
    let old = r#"{ kid = "test", secret = "abcdefghijabcdefghijabcdefghijabcdefghij" }"#;
    let next = r#"{ kid = "next", secret = "jihgfedcbajihgfedcbajihgfedcbajihgfedcba" }"#;
    assert!(CONFIG.contains(old));
    let with_keys = |keys: &str| format!("{}{NO_LIMITS}", CONFIG.replace(old, keys));

    let rotated = world.app.second_node_with(&with_keys(&format!("{next}, {old}"))).await;
    let removed = world.app.second_node_with(&with_keys(next)).await;

    let path = format!("/auth/users/consents?userId={user}");
    for (node, expected) in [(&rotated, true), (&removed, false)] {
        let (_, own) = node.get(&token, "/auth/profile/consents").await;
        let (_, seen) = node.get(&world.a.token, &path).await;
        assert_eq!(own["items"][0]["integrityVerified"], expected);
        assert_eq!(seen["items"][0]["integrityVerified"], expected);
    }
    let body = json!({"consentType": "news", "isGranted": true});
    assert_eq!(rotated.put(&token, "/auth/profile/consents", body).await.0, 200);
    let kids = "select consent_type, integrity_kid from auth_consents order by consent_type";
    assert_eq!(
        world.app.rows(kids).await,
        [
            json!({"consent_type": "news", "integrity_kid": "next"}),
            json!({"consent_type": "terms", "integrity_kid": "test"})
        ]
    );
}

#[actix_web::test]
async fn first_decisions_at_the_same_moment_are_all_taken() {
    let world = World::new().await;
    for round in 0..5 {
        let body = json!({"consentType": format!("newsletter.{round}"), "isGranted": true});
        let decisions = (0..8).map(|_| world.app.put(&world.a.token, "/auth/profile/consents", body.clone()));

        let answers = futures_util::future::join_all(decisions).await;

        for (status, answer) in &answers {
            assert_eq!(
                (*status, &answer["item"]["id"]),
                (200, &answers[0].1["item"]["id"]),
                "{answer}"
            );
            assert_eq!(answer["item"]["integrityVerified"], true);
        }
    }
    assert_eq!(world.app.rows("select id from auth_consents").await.len(), 5);
}
