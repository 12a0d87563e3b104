use actix_web::http::Method;
use serde_json::json;

use crate::world::{PASSWORD, World, login};

#[actix_web::test]
async fn the_profile_says_who_the_caller_is() {
    let world = World::new().await;

    let (status, profile) = world.app.get(&world.a.token, "/auth/profile").await;

    assert_eq!(status, 200);
    assert_eq!(profile["email"], "admin@alpha.test");
    assert_eq!(profile["name"], json!(null));
    assert_eq!(profile["roles"], json!(["admin"]));
    assert_eq!(profile["tenantId"], json!(world.a.id));
    assert_eq!(profile["isSuperAdmin"], false);
}

#[actix_web::test]
async fn acc_17_an_own_password_needs_the_current_one_and_ends_the_other_sessions() {
    let world = World::new().await;
    let other = login(&world.app, "admin@alpha.test").await;
    let put = |body| world.app.put(&world.a.token, "/auth/profile", body);

    let (without, text) = put(json!({"password": "a new long password"})).await;
    let (wrong, wrong_text) = put(json!({"password": "a new long password", "currentPassword": "nope"})).await;
    let right = json!({"password": "a new long password", "currentPassword": PASSWORD});
    let answer = world
        .app
        .request(Method::PUT, "/auth/profile")
        .bearer(&world.a.token)
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
        (answer.status, answer.json()),
        (200, json!({"ok": true, "email": "admin@alpha.test"}))
    );
    assert_eq!(answer.operation(), None, "a changed password can't be undone");
    assert_eq!(world.app.get(&world.a.token, "/auth/profile").await.0, 200);
    assert_eq!(world.app.get(&other, "/auth/profile").await.0, 401);
    let old = json!({"email": "admin@alpha.test", "password": PASSWORD});
    assert_eq!(world.app.post("", "/auth/login", old).await.0, 401);
}

#[actix_web::test]
async fn a_name_alone_needs_no_password_and_can_be_undone() {
    let world = World::new().await;
    let body = json!({"name": "  Ada  "});

    let answer = world
        .app
        .request(Method::PUT, "/auth/profile")
        .bearer(&world.a.token)
        .json(&body)
        .send()
        .await;
    let token = answer.operation().expect("undoable")["undoToken"].clone();
    let named = world.app.get(&world.a.token, "/auth/profile").await.1["name"].clone();
    let undo = json!({"undoToken": token});
    let (undone, _) = world
        .app
        .post(&world.a.token, "/audit_logs/audit-logs/actions/undo", undo)
        .await;

    assert_eq!(named, "Ada");
    assert_eq!(undone, 200);
    assert_eq!(
        world.app.get(&world.a.token, "/auth/profile").await.1["name"],
        json!(null)
    );
}

#[actix_web::test]
async fn acc_15_weak_passwords_are_refused_with_the_rule_that_they_break() {
    let world = World::new().await;
    for (password, code) in [
        ("short12", "too_short"),
        ("password1", "too_common"),
        ("ADMIN@ALPHA.TEST", "equals_email"),
    ] {
        let body = json!({"password": password, "currentPassword": PASSWORD});

        let (status, answer) = world.app.put(&world.a.token, "/auth/profile", body).await;

        assert_eq!(
            (status, answer["code"].as_str()),
            (400, Some("password_policy")),
            "{password}"
        );
        assert_eq!(answer["details"][0]["code"], code);
    }
}

#[actix_web::test]
async fn acc_37_the_feature_check_has_bounds() {
    let world = World::new().await;
    let check = |features| {
        world
            .app
            .post(&world.a.token, "/auth/feature-check", json!({"features": features}))
    };

    let (status, answer) = check(json!(["auth.users.list", "api_keys.view", "auth.*", "auth.users.list"])).await;
    let (empty_status, empty) = check(json!([])).await;

    assert_eq!(status, 200);
    assert_eq!(
        answer,
        json!({"ok": false, "granted": ["auth.users.list", "auth.*"], "userId": world.a.admin})
    );
    assert_eq!((empty_status, empty["ok"].as_bool()), (200, Some(true)));
    for bad in [
        json!(vec!["a"; 51]),
        json!(["x".repeat(129)]),
        json!([7]),
        json!("auth.*"),
        json!([""]),
    ] {
        let (status, answer) = check(bad.clone()).await;
        assert_eq!((status, answer["ok"].as_bool()), (400, Some(false)), "{bad}");
    }
}

#[actix_web::test]
async fn the_catalogue_lists_enabled_modules_and_their_features() {
    let world = World::new().await;

    let (status, catalogue) = world.app.get(&world.a.token, "/auth/features").await;

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
