//! What a wildcard grants and covers, and features of modules that are not there.

use backoffice_test_support::TestApp;
use serde_json::json;

use crate::acl::manager;
use crate::world::{CONFIG, MODULES, NO_LIMITS, World};

#[actix_web::test]
async fn acc_21_a_wildcard_grants_what_lies_below_it_and_nothing_beside() {
    let world = World::new().await;
    let role = world.role("Somebody", &[], None).await;
    let (_, token) = world.user("ann@alpha.test", &["Somebody"]).await;
    let all = json!([
        "auth.users.list",
        "auth.users.edit",
        "auth.roles.list",
        "auth.users.*",
        "auth.*",
        "*",
        "directory.organizations.view"
    ]);
    let below_auth = json!([
        "auth.users.list",
        "auth.users.edit",
        "auth.roles.list",
        "auth.users.*",
        "auth.*"
    ]);
    for (grants, held) in [
        (
            json!(["auth.users.*"]),
            json!(["auth.users.list", "auth.users.edit", "auth.users.*"]),
        ),
        (json!(["auth.*"]), below_auth),
        (json!(["auth.users.list"]), json!(["auth.users.list"])),
        (json!(["*"]), all.clone()),
        (json!([]), json!([])),
    ] {
        let acl = json!({"roleId": role, "features": grants, "organizations": null});
        assert_eq!(world.app.put(&world.root, "/auth/roles/acl", acl).await.0, 200);

        let check = json!({"features": all});
        let (status, answer) = world.app.post(&token, "/auth/feature-check", check).await;

        assert_eq!((status, &answer["granted"]), (200, &held), "{grants}");
    }
    // A word that only begins alike is no feature below it.
    let acl = json!({"roleId": role, "features": ["auth.user.*", "auth.usersx.*", "aut.*"], "organizations": null});
    let (_, dropped) = world.app.put(&world.root, "/auth/roles/acl", acl).await;
    assert_eq!(dropped["sanitized"], true);
    assert_eq!(world.app.get(&token, "/auth/users").await.0, 403);
}

#[actix_web::test]
async fn acc_21_a_narrower_wildcard_is_covered_and_a_wider_one_is_not() {
    let world = World::new().await;
    let token = manager(&world, &["directory.*"]).await;
    let role = world.role("Target", &[], None).await;
    for (feature, expected) in [
        ("directory.organizations.*", 200),
        ("directory.organizations.view", 200),
        ("directory.*", 200),
        ("auth.*", 403),
        ("*", 403),
    ] {
        let acl = json!({"roleId": role, "features": [feature]});
        let (status, answer) = world.app.put(&token, "/auth/roles/acl", acl).await;

        assert_eq!(status, expected, "{feature}: {answer}");
        if expected == 403 {
            assert_eq!(answer["features"], json!([feature]), "what was too much");
        }
    }
    let (_, acl) = world
        .app
        .get(&world.root, &format!("/auth/roles/acl?roleId={role}"))
        .await;
    assert_eq!(acl["features"], json!(["directory.*"]), "nothing of what was refused");
}

#[actix_web::test]
async fn acc_21_a_feature_of_no_enabled_module_is_held_by_nobody() {
    let world = World::new().await;
    for token in [&world.root, &world.a.token] {
        let check = json!({"features": ["api_docs.view", "no.such.feature", "auth.users.list"]});
        let (_, answer) = world.app.post(token, "/auth/feature-check", check).await;
        assert_eq!(
            (answer["ok"].clone(), answer["granted"].clone()),
            (json!(false), json!(["auth.users.list"]))
        );
    }
}

#[actix_web::test]
async fn acc_21_a_feature_of_a_module_that_is_not_enabled_is_stored_and_held_by_nobody() {
    let app = TestApp::builder(&MODULES[..2]).compiled(&MODULES);
    let world = World::inside(app.config(CONFIG).config(NO_LIMITS).build().await).await;
    let (user, token) = world.user("ann@alpha.test", &[]).await;
    let acl = json!({"userId": user, "features": ["audit_logs.*", "auth.users.list"]});

    let (status, written) = world.app.put(&world.root, "/auth/users/acl", acl).await;

    assert_eq!((status, &written["sanitized"]), (200, &json!(false)));
    for token in [&world.root, &token] {
        let check = json!({"features": ["audit_logs.undo_self", "auth.users.list"]});
        let (_, answer) = world.app.post(token, "/auth/feature-check", check).await;
        assert_eq!(
            (&answer["ok"], &answer["granted"]),
            (&json!(false), &json!(["auth.users.list"]))
        );
        let (status, _) = world.app.get(token, "/audit_logs/audit-logs/actions").await;
        assert_eq!(status, 404);
    }
}
