//! Undo and redo require what the endpoints require of a user.

use actix_web::http::Method;
use backoffice_test_support::TestResponse;
use serde_json::{Value, json};

use crate::fixture::{Fixture, account, login};

const ROLE_ACL: &str = "/auth/roles/acl";
const USERS: &str = "/auth/users";
const USER_ACL: &str = "/auth/users/acl";

/// Sends a write that must be accepted.
async fn write(fixture: &Fixture, token: &str, method: Method, path: &str, body: Value) -> TestResponse {
    let response = fixture.app.send(token, method, path, &body).await;
    assert_eq!(response.status, 200, "{path} {body}: {}", response.text());
    response
}

fn conflict(field: &str) -> (u16, Value) {
    let text = "The record has changed since this action";
    let body = json!({"error": text, "code": "undo_conflict", "fields": [field]});
    (400, body)
}

#[actix_web::test]
async fn a_deleted_user_gets_no_acl_back() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    let acl = json!({"userId": user, "features": ["auth.users.list"]});
    let given = write(&fixture, token, Method::PUT, USER_ACL, acl).await;
    let taken = fixture.app.undo(token, &given).await;
    assert_eq!(taken.0, 200, "{}", taken.1);
    let path = format!("{USERS}?id={user}");
    let deleted = write(&fixture, token, Method::DELETE, &path, json!({})).await;
    let before = fixture.app.snapshot().await;

    let redone = fixture.app.redo(token, &given).await;

    assert_eq!(redone, conflict("userId"));
    assert_eq!(fixture.app.snapshot().await, before);
    let restored = fixture.app.undo(token, &deleted).await;
    assert_eq!(restored.0, 200, "{}", restored.1);
}

#[actix_web::test]
async fn a_user_who_left_the_organizations_of_the_caller_gets_no_acl_back() {
    let fixture = Fixture::new().await;
    let north = fixture.organization("North", None).await;
    let south = fixture.organization("South", None).await;
    let features = ["audit_logs.*", "auth.acl.manage", "auth.users.*"];
    fixture.role("Local", &features, Some(&[north])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let tenant = Some(fixture.a.id);
    let user = account(&fixture.app, tenant, Some(north), "ann@alpha.test", &[], false).await;
    let acl = json!({"userId": user, "features": ["auth.users.list"], "organizations": [north]});
    write(&fixture, &local, Method::PUT, USER_ACL, acl).await;
    let removal = json!({"userId": user, "features": []});
    let removed = write(&fixture, &local, Method::PUT, USER_ACL, removal).await;
    let moved = json!({"id": user, "organizationId": south});
    write(&fixture, &fixture.a.token, Method::PUT, USERS, moved).await;
    let before = fixture.app.snapshot().await;

    let outside = fixture.app.undo(&local, &removed).await;

    assert_eq!(outside, conflict("userId"));
    assert_eq!(fixture.app.snapshot().await, before);
    let moved = json!({"id": user, "organizationId": north});
    write(&fixture, &fixture.a.token, Method::PUT, USERS, moved).await;
    let inside = fixture.app.undo(&local, &removed).await;
    assert_eq!(inside.0, 200, "{}", inside.1);
}

#[actix_web::test]
async fn the_entry_of_an_own_acl_belongs_to_the_organization_of_its_user() {
    let fixture = Fixture::new().await;
    let north = fixture.organization("North", None).await;
    let features = ["audit_logs.*", "auth.acl.manage", "auth.users.*"];
    fixture.role("Local", &features, Some(&[north])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let tenant = Some(fixture.a.id);
    let user = account(&fixture.app, tenant, Some(north), "ann@alpha.test", &[], false).await;
    let acl = json!({"userId": user, "features": ["auth.users.list"], "organizations": [north]});

    let given = write(&fixture, &fixture.a.token, Method::PUT, USER_ACL, acl).await;

    let path = format!("/audit_logs/audit-logs/actions?resourceKind=auth.user_acl&resourceId={user}");
    let entries = fixture.app.read(&local, &path).await;
    let items = entries["items"].as_array().expect("items");
    let shown: Vec<&Value> = items.iter().map(|entry| &entry["organizationId"]).collect();
    assert_eq!(shown, [&json!(north)], "{entries}");
    let events = "select name, payload ->> 'organizationId' as organization from core_outbox_events \
                  where name like 'auth.user_acl.%'";
    assert_eq!(
        fixture.app.rows(events).await,
        [json!({"name": "auth.user_acl.updated", "organization": north})]
    );
    let undone = fixture.app.undo(&local, &given).await;
    assert_eq!(undone.0, 200, "{}", undone.1);
}

#[actix_web::test]
async fn an_own_acl_is_restored_in_whatever_organization_its_user_is_now() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let north = fixture.organization("North", None).await;
    let south = fixture.organization("South", None).await;
    let tenant = Some(fixture.a.id);
    let user = account(&fixture.app, tenant, Some(north), "ann@alpha.test", &[], false).await;
    let acl = |features: &str| json!({"userId": user, "features": [features]});
    let stored = async || {
        let path = format!("{USER_ACL}?userId={user}");
        fixture.app.read(token, &path).await["features"].clone()
    };
    write(&fixture, token, Method::PUT, USER_ACL, acl("auth.users.list")).await;
    let widened = write(&fixture, token, Method::PUT, USER_ACL, acl("auth.users.*")).await;
    let moved = json!({"id": user, "organizationId": south});
    write(&fixture, token, Method::PUT, USERS, moved).await;

    let undone = fixture.app.undo(token, &widened).await;

    assert_eq!(undone.0, 200, "{}", undone.1);
    assert_eq!(stored().await, json!(["auth.users.list"]));
    let redone = fixture.app.redo(token, &widened).await;
    assert_eq!(redone.0, 200, "{}", redone.1);
    assert_eq!(stored().await, json!(["auth.users.*"]));
}

#[actix_web::test]
async fn a_deleted_role_gets_no_acl_back() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let role = fixture.create("/auth/roles", json!({"name": "Dispatcher"})).await;
    let acl = json!({"roleId": role, "features": ["auth.users.list"]});
    let given = write(&fixture, token, Method::PUT, ROLE_ACL, acl).await;
    let taken = fixture.app.undo(token, &given).await;
    assert_eq!(taken.0, 200, "{}", taken.1);
    let path = format!("/auth/roles?id={role}");
    let deleted = write(&fixture, token, Method::DELETE, &path, json!({})).await;

    let redone = fixture.app.redo(token, &given).await;
    let restored = fixture.app.undo(token, &deleted).await;

    assert_eq!(redone, conflict("roleId"));
    assert_eq!(restored.0, 200, "{}", restored.1);
}

#[actix_web::test]
async fn acc_17_undo_and_redo_change_no_own_address() {
    let fixture = Fixture::new().await;
    let own = &fixture.a.token;
    let (_, other) = fixture.user("ann@alpha.test", &["admin"]).await;
    let moved = json!({"id": fixture.a.admin, "email": "moved@alpha.test"});
    let moved = write(&fixture, &other, Method::PUT, USERS, moved).await;
    let before = fixture.app.snapshot().await;

    let undone = fixture.app.undo(own, &moved).await;

    assert_eq!(undone, conflict("email"));
    assert_eq!(fixture.app.snapshot().await, before);
    let undone = fixture.app.undo(&other, &moved).await;
    assert_eq!(undone.0, 200, "of another user: {}", undone.1);
    let before = fixture.app.snapshot().await;
    assert_eq!(fixture.app.redo(own, &moved).await, conflict("email"));
    assert_eq!(fixture.app.snapshot().await, before);
    login(&fixture.app, "admin@alpha.test").await;

    let named = json!({"id": fixture.a.admin, "name": "Ada"});
    let named = write(&fixture, &other, Method::PUT, USERS, named).await;
    let undone = fixture.app.undo(own, &named).await;
    assert_eq!(undone.0, 200, "without the address: {}", undone.1);
}
