//! Options of actions that call the platform.

use serde_json::{Value, json};

use crate::fixture::fixture;

const OPTIONS: &str = "/business_rules/platform-call-options";

#[actix_web::test]
async fn rul_14_options_need_both_features_and_leave_out_what_rules_must_not_call() {
    let fixture = fixture().await;
    fixture.role("Editor", &["business_rules.*"], None).await;
    let (_, editor) = fixture.user("editor@alpha.test", &["Editor"]).await;
    let key = json!({"name": "Key", "roles": ["Editor"], "organizationId": null});
    let (status, key) = fixture.app.post(&fixture.a.token, "/api_keys/keys", key).await;
    assert_eq!(status, 201, "{key}");

    assert_eq!(fixture.app.get(&editor, OPTIONS).await.0, 403);
    let (status, options) = fixture.app.get(&fixture.a.token, OPTIONS).await;

    assert_eq!(status, 200);
    let endpoints = options["endpoints"].as_array().cloned().unwrap_or_default();
    let paths: Vec<&str> = endpoints.iter().filter_map(|one| one["path"].as_str()).collect();
    assert!(paths.contains(&"/customers/deals"));
    let excluded = [
        "/access",
        "/auth",
        "/api_keys",
        "/audit_logs",
        "/business_rules",
        "/onboarding",
    ];
    assert!(
        !paths
            .iter()
            .any(|path| path.contains('{') || excluded.iter().any(|one| path.starts_with(one)))
    );
    let list = endpoints
        .iter()
        .find(|one| one["id"] == json!("GET /customers/deals"))
        .expect("listed");
    assert_eq!(
        (&list["method"], &list["label"]),
        (&json!("GET"), &json!("GET /customers/deals - List deals"))
    );
    let keys = options["apiKeys"].as_array().cloned().unwrap_or_default();
    assert_eq!(
        (keys.len(), &keys[0]["id"], &keys[0]["organizationId"]),
        (1, &key["id"], &Value::Null)
    );
    assert_eq!(keys[0]["roles"][0]["name"], "Editor");
    assert!(
        !options
            .to_string()
            .contains(key["secret"].as_str().unwrap_or("no secret"))
    );
    assert_eq!(fixture.app.get(&fixture.b.token, OPTIONS).await.1["apiKeys"], json!([]));
}

#[actix_web::test]
async fn keys_with_more_rights_than_the_caller_could_grant_are_left_out() {
    let fixture = fixture().await;
    fixture
        .role("Maker", &["business_rules.*", "api_keys.create"], None)
        .await;
    let (_, maker) = fixture.user("maker@alpha.test", &["Maker"]).await;
    for (name, role) in [("Wide", "admin"), ("Narrow", "Maker")] {
        let key = json!({"name": name, "roles": [role], "organizationId": null});
        assert_eq!(fixture.app.post(&fixture.a.token, "/api_keys/keys", key).await.0, 201);
    }

    let (_, options) = fixture.app.get(&maker, OPTIONS).await;

    let keys = options["apiKeys"].as_array().cloned().unwrap_or_default();
    let names: Vec<&Value> = keys.iter().map(|key| &key["name"]).collect();
    assert_eq!(names, ["Narrow"]);
}
