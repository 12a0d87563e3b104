//! Changes of the role.

use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, USERS, rejection};

#[actix_web::test]
async fn dsp_5_a_changed_role_counts_for_the_next_request_of_a_live_token() {
    let fixture = Fixture::new().await;
    let (dispatcher, token) = fixture.member("d@example.com", "dispatcher").await;
    assert_eq!(fixture.app.get(&token, USERS).await.0, 200);

    let changed = fixture.change_role(&fixture.a.token, dispatcher, "viewer").await;

    assert_eq!(changed, (200, json!({"ok": true})));
    let rejected = fixture.app.get(&token, USERS).await;
    assert_eq!(rejection(&rejected), (403, "forbidden"));
    assert_eq!(rejected.1["requiredFeatures"], json!(["access.users.view"]));
    assert_eq!(fixture.user_of(dispatcher).await["role"], "viewer");
}

#[actix_web::test]
async fn dsp_5_oneself_administrators_and_users_of_other_tenants_cannot_be_changed() {
    let fixture = Fixture::new().await;
    let (other_admin, _) = fixture.user("second@alpha.test", &["admin"]).await;
    let change = async |id: Uuid| fixture.change_role(&fixture.a.token, id, "viewer").await;
    let unknown = change(Uuid::from_u128(7)).await;

    assert_eq!(
        rejection(&change(fixture.a.admin).await),
        (400, "cannot_change_own_role")
    );
    assert_eq!(rejection(&change(other_admin).await), (400, "role_not_assignable"));
    assert_eq!(rejection(&unknown), (404, "user_not_found"));
    assert_eq!(change(fixture.b.admin).await, unknown);
    let malformed = format!("{USERS}/nonsense");
    let malformed = fixture.app.put(&fixture.a.token, &malformed, json!({"role": "viewer"}));
    assert_eq!(malformed.await, unknown);
}

#[actix_web::test]
async fn super_administrators_are_not_assignable_and_not_visible_to_others() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.user("super@alpha.test", &[]).await;
    let acl = format!(
        "insert into auth_user_acls (tenant_id, id, user_id, is_super_admin, features, created_at, updated_at) \
         values ('{0}', '{1}', '{1}', true, '{{}}', now(), now())",
        fixture.a.id, id
    );
    assert_eq!(fixture.app.sql(&acl).await, 1);
    let request = fixture
        .app
        .request(Method::PUT, &format!("{USERS}/{id}"))
        .bearer(&fixture.root);
    let request = request.header("X-Tenant-Id", &fixture.a.id.to_string());

    let by_root = request.json(&json!({"role": "viewer"})).send().await;

    assert_eq!(
        rejection(&(by_root.status, by_root.json())),
        (400, "role_not_assignable")
    );
    let by_admin = fixture.change_role(&fixture.a.token, id, "viewer").await;
    assert_eq!(rejection(&by_admin), (404, "user_not_found"));
    let (_, list) = fixture.app.get(&fixture.a.token, &format!("{USERS}?id={id}")).await;
    assert_eq!(list["total"], 0);
}

#[actix_web::test]
async fn only_the_role_of_the_team_is_replaced_and_an_undo_restores_it() {
    let fixture = Fixture::new().await;
    fixture.role("Other", &["auth.users.list"], None).await;
    let (id, _) = fixture
        .user("both@alpha.test", &["Other", "dispatcher", "viewer"])
        .await;
    let held = async || {
        let query = format!(
            "select r.name from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
             where l.user_id = '{id}' order by r.name"
        );
        let rows = fixture.app.rows(&query).await;
        rows.iter()
            .map(|row| row["name"].as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(fixture.user_of(id).await["role"], "dispatcher");

    let request = fixture
        .app
        .request(Method::PUT, &format!("{USERS}/{id}"))
        .bearer(&fixture.a.token);
    let changed = request.json(&json!({"role": "viewer"})).send().await;

    assert_eq!(changed.status, 200, "{}", changed.text());
    assert_eq!(held().await, ["Other", "viewer"]);
    let operation = changed.operation().expect("undoable");
    assert_eq!(operation["commandId"], "access.user.change_role");
    let (status, body) = fixture.app.undo(&fixture.a.token, &changed).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(held().await, ["Other", "dispatcher", "viewer"]);
}

#[actix_web::test]
async fn callers_change_their_own_role_neither_by_undo_nor_by_redo() {
    let fixture = Fixture::new().await;
    fixture.role("Lead", &["access.*", "audit_logs.*"], None).await;
    let (lead, token) = fixture.user("lead@alpha.test", &["Lead", "dispatcher"]).await;
    let path = format!("{USERS}/{lead}");
    let changed = fixture
        .app
        .send(&fixture.a.token, Method::PUT, &path, json!({"role": "viewer"}))
        .await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let conflict = |(status, body): (u16, Value)| (status, body["code"].clone(), body["fields"].clone());
    let own = (400, json!("undo_conflict"), json!(["roleIds"]));

    let undone = fixture.app.undo(&token, &changed).await;

    assert_eq!(conflict(undone), own);
    assert_eq!(fixture.user_of(lead).await["role"], "viewer");
    let (status, body) = fixture.app.undo(&fixture.a.token, &changed).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(conflict(fixture.app.redo(&token, &changed).await), own);
    assert_eq!(fixture.user_of(lead).await["role"], "dispatcher");

    // Changes of other users are undone and redone by the same caller.
    let (other, _) = fixture.user("other@alpha.test", &["dispatcher"]).await;
    let changed = fixture
        .app
        .send(
            &fixture.a.token,
            Method::PUT,
            &format!("{USERS}/{other}"),
            json!({"role": "viewer"}),
        )
        .await;
    let (status, body) = fixture.app.undo(&token, &changed).await;
    assert_eq!(status, 200, "{body}");
    let (status, body) = fixture.app.redo(&token, &changed).await;
    assert_eq!(status, 200, "{body}");
}

#[actix_web::test]
async fn a_changed_role_is_announced_with_its_name() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;

    assert_eq!(fixture.change_role(&fixture.a.token, id, "dispatcher").await.0, 200);

    let events = "select o.name, o.payload, o.feature from core_outbox_events o \
        join audit_action_logs l on l.tenant_id = o.tenant_id and l.id = o.log_id \
        where l.command_id = 'access.user.change_role' order by o.seq";
    let payload = json!({"id": id, "tenantId": fixture.a.id, "organizationId": fixture.a.organization});
    let mut with_role = payload.clone();
    with_role["role"] = json!("dispatcher");
    assert_eq!(
        fixture.app.rows(events).await,
        [
            json!({"name": "auth.user.updated", "payload": payload, "feature": "auth.users.list"}),
            json!({"name": "access.user.role_changed", "payload": with_role, "feature": "access.users.view"}),
        ]
    );
}

#[actix_web::test]
async fn the_same_role_again_changes_and_logs_nothing() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    let before = fixture.app.snapshot().await;

    let request = fixture
        .app
        .request(Method::PUT, &format!("{USERS}/{id}"))
        .bearer(&fixture.a.token);
    let same = request.json(&json!({"role": "viewer"})).send().await;

    assert_eq!((same.status, same.json()), (200, json!({"ok": true})));
    assert!(same.operation().is_none());
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn a_caller_replaces_and_assigns_only_roles_that_they_cover() {
    let fixture = Fixture::new().await;
    fixture.role("Inviter", &["access.*"], None).await;
    let (_, inviter) = fixture.user("inviter@alpha.test", &["Inviter"]).await;
    let (plain, _) = fixture.user("plain@alpha.test", &[]).await;
    let dispatcher = fixture.invited("d@example.com", "dispatcher").await;

    for (id, role) in [(plain, "dispatcher"), (dispatcher, "viewer")] {
        let rejected = fixture.change_role(&inviter, id, role).await;
        assert_eq!(rejection(&rejected), (403, "role_not_grantable"), "{role}");
    }
    let unknown_role = fixture.change_role(&fixture.a.token, dispatcher, "boss").await;
    assert_eq!(rejection(&unknown_role), (400, "invalid_role"));
}

#[actix_web::test]
async fn a_change_with_an_old_version_is_a_conflict() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    let updated_at = fixture.user_of(id).await["updatedAt"].clone();
    fixture.app.advance(backoffice_test_support::Duration::seconds(1));
    assert_eq!(fixture.change_role(&fixture.a.token, id, "dispatcher").await.0, 200);

    let request = fixture
        .app
        .request(Method::PUT, &format!("{USERS}/{id}"))
        .bearer(&fixture.a.token);
    let request = request.header("X-Expected-Updated-At", updated_at.as_str().expect("an instant"));
    let late = request.json(&json!({"role": "viewer"})).send().await;

    let body = (late.status, late.json());
    assert_eq!(rejection(&body), (409, "optimistic_lock_conflict"));
    assert_eq!(body.1["expectedUpdatedAt"], updated_at);
    assert_ne!(body.1["currentUpdatedAt"], Value::Null);
}
