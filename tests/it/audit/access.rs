//! Permissions for undo.

use actix_web::http::Method;
use backoffice_core::command::UndoToken;
use backoffice_test_support::UNDO;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{name_of, rename};
use crate::call::Call;
use crate::fixture::Fixture;
use crate::history::unavailable;

const EDITOR: [&str; 3] = ["auth.roles.*", "audit_logs.view_self", "audit_logs.undo_self"];

#[actix_web::test]
async fn aud_10_tokens_that_are_not_the_callers_all_look_alike() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    fixture.role(&fixture.a, "Editor", &EDITOR, None).await;
    let editor = fixture.account(&fixture.a, "editor@alpha.test", &["Editor"]).await;
    let foreign = rename(&fixture, &fixture.b.tenant_admin, fixture.b.role, "Renamed").await;
    let used = rename(&fixture, &editor, fixture.a.role, "Renamed").await;
    assert_eq!(app.undo(&editor.token, &used).await.0, 200);
    let others = rename(&fixture, tenant_admin, fixture.a.role, "By the admin").await;
    let guessed = UndoToken::new(others.log_id, [1; 32]).to_string();
    let random = UndoToken::new(Uuid::from_u128(9), [9; 32]).to_string();

    let mut responses = Vec::new();
    for token in [&foreign.token, &used.token, &others.token, &guessed, &random] {
        let request = app.request(Method::POST, UNDO).bearer(&editor.token);
        let response = request.json(&json!({"undoToken": token})).send().await;
        responses.push((response.status, response.body));
    }

    assert_eq!(responses[0].0, 400);
    assert!(
        responses.iter().all(|response| *response == responses[0]),
        "{responses:?}"
    );
    assert_eq!(
        app.undo(&fixture.a.admin.token, &others).await.0,
        200,
        "with undo_tenant"
    );
}

#[actix_web::test]
async fn aud_10_an_entry_of_no_organization_needs_the_wider_feature_in_the_whole_tenant() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    let own = ["auth.roles.*", "audit_logs.undo_self", "audit_logs.redo_self"];
    let of_others = ["audit_logs.undo_tenant", "audit_logs.redo_tenant"];
    fixture.role(a, "Editor", &own, None).await;
    fixture.role(a, "Of child", &of_others, Some(&[a.child])).await;
    fixture.role(a, "Of all", &of_others, None).await;
    let limited = fixture.account(a, "limited@alpha.test", &["Editor", "Of child"]).await;
    let wide = fixture.account(a, "wide@alpha.test", &["Editor", "Of all"]).await;
    let done = rename(&fixture, &a.tenant_admin, a.role, "By the admin").await;

    let undone = app.undo(&limited.token, &done).await;

    assert_eq!(undone, (400, unavailable()));
    assert_eq!(name_of(&fixture, a.role).await, "By the admin");
    assert_eq!(app.undo(&wide.token, &done).await.0, 200);
    let redone = app.redo(&limited.token, &done).await;
    assert_eq!(redone, (400, json!({"error": "Redo target not available"})));
    assert_eq!(name_of(&fixture, a.role).await, "Clerk");
    assert_eq!(app.redo(&wide.token, &done).await.0, 200);
}

#[actix_web::test]
async fn aud_11_undo_needs_its_feature_and_that_of_the_command() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let role = fixture.role(&fixture.a, "Editor", &EDITOR, None).await;
    let editor = fixture.account(&fixture.a, "editor@alpha.test", &["Editor"]).await;
    let done = rename(&fixture, &editor, fixture.a.role, "Renamed").await;
    let grant = async |features: Value| {
        let body = json!({"roleId": role, "features": features});
        assert_eq!(app.put(&tenant_admin.token, "/auth/roles/acl", body).await.0, 200);
    };
    let missing = |feature: &str| (403, json!({"error": "Forbidden", "requiredFeatures": [feature]}));

    grant(json!(["auth.roles.manage"])).await;
    assert_eq!(app.undo(&editor.token, &done).await, missing("audit_logs.undo_self"));
    grant(json!(["audit_logs.undo_self"])).await;
    assert_eq!(app.undo(&editor.token, &done).await, missing("auth.roles.manage"));
    assert_eq!(name_of(&fixture, fixture.a.role).await, "Renamed");
    grant(json!(EDITOR)).await;
    assert_eq!(app.undo(&editor.token, &done).await.0, 200);
    assert_eq!(name_of(&fixture, fixture.a.role).await, "Clerk");
}

#[actix_web::test]
async fn aud_12_an_entry_of_another_organization_stays() {
    let fixture = Fixture::new().await;
    let (app, local, colleague) = (&fixture.app, &fixture.a.local, fixture.a.colleague.id);
    let violation = (403, json!({"error": "Organization scope violation"}));
    let body = json!({"id": colleague, "name": "Renamed"});
    let done = Call::put("/auth/users", body)
        .send(app, &local.token)
        .await
        .undoable_write();
    let (_, roles) = app.get(&fixture.a.tenant_admin.token, "/auth/roles?search=Local").await;
    let restrict = async |organizations: Value| {
        let body = json!({"roleId": roles["items"][0]["id"], "organizations": organizations});
        let response = app.put(&fixture.a.tenant_admin.token, "/auth/roles/acl", body).await;
        assert_eq!(response.0, 200, "{}", response.1);
    };

    restrict(json!([fixture.a.other])).await;
    let before = app.snapshot().await;
    assert_eq!(app.undo(&local.token, &done).await, violation);
    assert_eq!(app.snapshot().await, before);

    restrict(json!([fixture.a.child, fixture.a.other])).await;
    let before = app.snapshot().await;
    let elsewhere = app.request(Method::POST, UNDO).bearer(&local.token);
    let elsewhere = elsewhere.header("X-Organization-Id", &fixture.a.other.to_string());
    let response = elsewhere.json(&json!({"undoToken": done.token})).send().await;
    assert_eq!((response.status, response.json()), violation);
    assert_eq!(app.snapshot().await, before);

    assert_eq!(app.undo(&local.token, &done).await.0, 200);
    assert_eq!(app.undo(&local.token, &done).await, (400, unavailable()));
}

#[actix_web::test]
async fn aud_17_an_undo_grants_no_more_than_the_caller_holds() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    fixture
        .role(
            &fixture.a,
            "Second",
            &["auth.acl.manage", "auth.roles.*", "audit_logs.*"],
            None,
        )
        .await;
    let second = fixture.account(&fixture.a, "second@alpha.test", &["Second"]).await;
    let body = json!({"roleId": fixture.a.role, "features": []});
    let done = Call::put("/auth/roles/acl", body)
        .send(app, &tenant_admin.token)
        .await
        .undoable_write();
    let before = app.snapshot().await;

    let (status, body) = app.undo(&second.token, &done).await;

    assert_eq!((status, &body["code"]), (403, &json!("grant_exceeds_rights")), "{body}");
    assert_eq!(app.snapshot().await, before);
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);
}

#[actix_web::test]
async fn aud_17_an_undo_does_not_take_away_the_last_administrator() {
    let fixture = Fixture::new().await;
    let (app, root, admin) = (&fixture.app, &fixture.root, &fixture.a.admin);
    let raised = json!({"userId": admin.id, "isSuperAdmin": true, "features": ["*"]});
    let raised = Call::put("/auth/users/acl", raised)
        .send(app, &root.token)
        .await
        .undoable_write();
    let deleted = Call::delete("/auth/users", root.id).send(app, &admin.token).await;
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    let before = app.snapshot().await;

    let (status, body) = app.undo(&admin.token, &raised).await;

    assert_eq!((status, &body["code"]), (400, &json!("last_super_admin")), "{body}");
    assert_eq!(app.snapshot().await, before);
    assert_eq!(app.undo(&admin.token, &deleted).await.0, 200);
    assert_eq!(app.undo(&admin.token, &raised).await.0, 200, "now there is another one");
}
