//! Grants and cover of wildcards, and features of modules that are not enabled.

use backoffice_test_accounts::ORGANIZATIONS;
use backoffice_test_support::TestApp;
use serde_json::json;

use crate::acl::manager;
use crate::fixture::{CONFIG, Fixture, MODULES, NO_LIMITS};

#[actix_web::test]
async fn acc_21_a_wildcard_grants_what_lies_below_it_and_nothing_beside() {
    let fixture = Fixture::new().await;
    let role = fixture.role("Somebody", &[], None).await;
    let (_, token) = fixture.user("ann@alpha.test", &["Somebody"]).await;
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
        assert_eq!(fixture.app.put(&fixture.root, "/auth/roles/acl", acl).await.0, 200);

        let check = json!({"features": all});
        let (status, response) = fixture.app.post(&token, "/auth/feature-check", check).await;

        assert_eq!((status, &response["granted"]), (200, &held), "{grants}");
    }
    // A feature with the same prefix but no dot after it is not covered.
    let acl = json!({"roleId": role, "features": ["auth.user.*", "auth.usersx.*", "aut.*"], "organizations": null});
    let (_, dropped) = fixture.app.put(&fixture.root, "/auth/roles/acl", acl).await;
    assert_eq!(dropped["sanitized"], true);
    assert_eq!(fixture.app.get(&token, "/auth/users").await.0, 403);
}

#[actix_web::test]
async fn acc_21_a_more_specific_wildcard_is_covered_and_a_wider_one_is_not() {
    let fixture = Fixture::new().await;
    let token = manager(&fixture, &["directory.*"]).await;
    let role = fixture.role("Target", &[], None).await;
    for (feature, expected) in [
        ("directory.organizations.*", 200),
        ("directory.organizations.view", 200),
        ("directory.*", 200),
        ("auth.*", 403),
        ("*", 403),
    ] {
        let acl = json!({"roleId": role, "features": [feature]});
        let (status, response) = fixture.app.put(&token, "/auth/roles/acl", acl).await;

        assert_eq!(status, expected, "{feature}: {response}");
        if expected == 403 {
            assert_eq!(response["features"], json!([feature]), "what was too much");
        }
    }
    let (_, acl) = fixture
        .app
        .get(&fixture.root, &format!("/auth/roles/acl?roleId={role}"))
        .await;
    assert_eq!(acl["features"], json!(["directory.*"]), "nothing of the rejected ACLs");
}

#[actix_web::test]
async fn acc_21_a_feature_of_no_enabled_module_grants_nothing() {
    let fixture = Fixture::new().await;
    for token in [&fixture.root, &fixture.a.token] {
        let check = json!({"features": ["api_docs.view", "no.such.feature", "auth.users.list"]});
        let (_, response) = fixture.app.post(token, "/auth/feature-check", check).await;
        assert_eq!(
            (response["ok"].clone(), response["granted"].clone()),
            (json!(false), json!(["auth.users.list"]))
        );
    }
}

#[actix_web::test]
async fn acc_21_a_feature_of_a_disabled_module_is_stored_and_grants_nothing() {
    let app = TestApp::builder(&MODULES[..2]).compiled(&MODULES);
    let fixture = Fixture::inside(app.config(CONFIG).config(NO_LIMITS).build().await).await;
    let (user, token) = fixture.user("ann@alpha.test", &[]).await;
    let acl = json!({"userId": user, "features": ["audit_logs.*", "auth.users.list"]});

    let (status, written) = fixture.app.put(&fixture.root, "/auth/users/acl", acl).await;

    assert_eq!((status, &written["sanitized"]), (200, &json!(false)));
    for token in [&fixture.root, &token] {
        let check = json!({"features": ["audit_logs.undo_self", "auth.users.list"]});
        let (_, response) = fixture.app.post(token, "/auth/feature-check", check).await;
        assert_eq!(
            (&response["ok"], &response["granted"]),
            (&json!(false), &json!(["auth.users.list"]))
        );
        let (status, _) = fixture.app.get(token, "/audit_logs/audit-logs/actions").await;
        assert_eq!(status, 404);
    }
}

#[actix_web::test]
async fn acc_21_a_wildcard_is_not_held_in_a_deleted_organization() {
    let fixture = Fixture::new().await;
    let depot = fixture.organization("Depot", None).await;
    fixture.role("Depot users", &["auth.users.*"], Some(&[depot])).await;
    let (_, token) = fixture.user("ann@alpha.test", &["Depot users"]).await;
    let granted = async || {
        let check = json!({"features": ["auth.users.*", "auth.users.list"]});
        let (status, response) = fixture.app.post(&token, "/auth/feature-check", check).await;
        assert_eq!(status, 200, "{response}");
        (response["ok"].clone(), response["granted"].clone())
    };
    assert_eq!(
        granted().await,
        (json!(true), json!(["auth.users.*", "auth.users.list"]))
    );

    let path = format!("{ORGANIZATIONS}?id={depot}");
    let (deleted, _) = fixture.app.delete(&fixture.a.token, &path, json!(null)).await;

    assert_eq!(deleted, 200);
    assert_eq!(granted().await, (json!(false), json!([])));
}
