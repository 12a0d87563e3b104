use actix_web::http::Method;
use serde_json::json;

use crate::fixture::{Fixture, PASSWORD, login};

#[actix_web::test]
async fn the_profile_says_who_the_caller_is() {
    let fixture = Fixture::new().await;

    let (status, profile) = fixture.app.get(&fixture.a.token, "/auth/profile").await;

    assert_eq!(status, 200);
    assert_eq!(profile["email"], "admin@alpha.test");
    assert_eq!(profile["name"], json!(null));
    assert_eq!(profile["roles"], json!(["admin"]));
    assert_eq!(profile["tenantId"], json!(fixture.a.id));
    assert_eq!(profile["isSuperAdmin"], false);
}

#[actix_web::test]
async fn acc_17_an_own_password_needs_the_current_one_and_ends_the_other_sessions() {
    let fixture = Fixture::new().await;
    let other = login(&fixture.app, "admin@alpha.test").await;
    let put = |body| fixture.app.put(&fixture.a.token, "/auth/profile", body);

    let (without, text) = put(json!({"password": "a new long password"})).await;
    let (wrong, wrong_text) = put(json!({"password": "a new long password", "currentPassword": "nope"})).await;
    let right = json!({"password": "a new long password", "currentPassword": PASSWORD});
    let response = fixture
        .app
        .request(Method::PUT, "/auth/profile")
        .bearer(&fixture.a.token)
        .json(&right)
        .send()
        .await;

    assert_eq!(
        (without, text["code"].as_str()),
        (400, Some("current_password_required"))
    );
    assert_eq!(
        (wrong, wrong_text["code"].as_str()),
        (400, Some("invalid_current_password"))
    );
    assert_eq!(
        (response.status, response.json()),
        (200, json!({"ok": true, "email": "admin@alpha.test"}))
    );
    assert_eq!(response.operation(), None, "a changed password can't be undone");
    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/profile").await.0, 200);
    assert_eq!(fixture.app.get(&other, "/auth/profile").await.0, 401);
    let old = json!({"email": "admin@alpha.test", "password": PASSWORD});
    assert_eq!(fixture.app.post("", "/auth/login", old).await.0, 401);
}

#[actix_web::test]
async fn a_name_alone_needs_no_password_and_can_be_undone() {
    let fixture = Fixture::new().await;
    let body = json!({"name": "  Ada  "});

    let response = fixture
        .app
        .send(&fixture.a.token, Method::PUT, "/auth/profile", body)
        .await;
    let named = fixture.app.get(&fixture.a.token, "/auth/profile").await.1["name"].clone();
    let (undone, _) = fixture.app.undo(&fixture.a.token, &response).await;

    assert_eq!(named, "Ada");
    assert_eq!(undone, 200);
    assert_eq!(
        fixture.app.get(&fixture.a.token, "/auth/profile").await.1["name"],
        json!(null)
    );
}

#[actix_web::test]
async fn acc_15_weak_passwords_are_rejected_with_the_rule_that_they_break() {
    let fixture = Fixture::new().await;
    for (password, code) in [
        ("short12", "too_short"),
        ("password1", "too_common"),
        ("ADMIN@ALPHA.TEST", "equals_email"),
    ] {
        let body = json!({"password": password, "currentPassword": PASSWORD});

        let (status, response) = fixture.app.put(&fixture.a.token, "/auth/profile", body).await;

        assert_eq!(
            (status, response["code"].as_str()),
            (400, Some("password_policy")),
            "{password}"
        );
        assert_eq!(response["details"][0]["code"], code);
    }
}

#[actix_web::test]
async fn acc_37_the_feature_check_has_bounds() {
    let fixture = Fixture::new().await;
    let check = |features| {
        fixture
            .app
            .post(&fixture.a.token, "/auth/feature-check", json!({"features": features}))
    };

    let (status, response) = check(json!(["auth.users.list", "api_keys.view", "auth.*", "auth.users.list"])).await;
    let (empty_status, empty) = check(json!([])).await;

    assert_eq!(status, 200);
    assert_eq!(
        response,
        json!({"ok": false, "granted": ["auth.users.list", "auth.*"], "userId": fixture.a.admin})
    );
    assert_eq!((empty_status, empty["ok"].as_bool()), (200, Some(true)));
    for bad in [
        json!(vec!["a"; 51]),
        json!(["x".repeat(129)]),
        json!([7]),
        json!("auth.*"),
        json!([""]),
    ] {
        let (status, response) = check(bad.clone()).await;
        assert_eq!((status, response["ok"].as_bool()), (400, Some(false)), "{bad}");
    }
}

#[actix_web::test]
async fn the_catalogue_lists_enabled_modules_and_their_features() {
    let fixture = Fixture::new().await;

    let (status, catalogue) = fixture.app.get(&fixture.a.token, "/auth/features").await;

    assert_eq!(status, 200);
    let modules: Vec<&str> = catalogue["modules"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|module| module["id"].as_str())
        .collect();
    assert_eq!(modules, ["audit_logs", "auth", "directory"]);
    assert!(
        catalogue["items"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|item| item["id"] == "auth.acl.manage")
    );
}
