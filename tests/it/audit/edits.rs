//! Edits and their order.

use serde_json::{Value, json};

use super::{name_of, rename, user};
use crate::call::Call;
use crate::fixture::Fixture;
use crate::history::{entries, entry, unavailable};

#[actix_web::test]
async fn aud_4_an_update_is_listed_with_exactly_its_changes_and_its_token() {
    let fixture = Fixture::new().await;
    let (tenant_admin, colleague) = (&fixture.a.tenant_admin, &fixture.a.colleague);
    let body = json!({"id": colleague.id, "name": "Renamed", "isActive": true});
    let response = Call::put("/auth/users", body)
        .send(&fixture.app, &tenant_admin.token)
        .await;
    let done = response.undoable_write();

    let found = entry(&fixture.app, tenant_admin, done.log_id).await;

    assert_eq!(found["undoToken"], done.token);
    assert_eq!(
        found["changes"],
        json!({"name": {"from": "Name of colleague@alpha.test", "to": "Renamed"}})
    );
    assert_eq!(found["changedFields"], json!(["name"]));
    let expected = [
        ("executionState", json!("done")),
        ("commandId", json!("auth.user.update")),
        ("actionType", json!("edit")),
        ("actionLabel", json!("Update user")),
        ("source", json!("ui")),
        ("actorUserId", json!(tenant_admin.id)),
        ("actorUserName", json!("Name of keeper@alpha.test")),
        ("tenantId", json!(fixture.a.tenant)),
        ("organizationId", json!(fixture.a.child)),
        ("resourceKind", json!("auth.user")),
        ("resourceId", json!(colleague.id)),
    ];
    for (name, value) in expected {
        assert_eq!(found[name], value, "{name}");
    }
    for name in [
        "id",
        "organizationId",
        "createdAt",
        "updatedAt",
        "email",
        "isActive",
        "roleIds",
    ] {
        assert!(found["snapshotAfter"].get(name).is_some(), "{name}");
    }
    assert_eq!(found["snapshotAfter"]["name"], "Renamed");
}

#[actix_web::test]
async fn aud_5_undo_gives_back_the_record_and_uses_the_token_up() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin, role) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.role);
    let done = rename(&fixture, tenant_admin, role, "Renamed").await;

    let (status, body) = app.undo(&tenant_admin.token, &done).await;

    assert_eq!((status, &body["logId"]), (200, &json!(done.log_id)), "{body}");
    assert_eq!(name_of(&fixture, role).await, "Clerk");
    let undone = entry(app, tenant_admin, done.log_id).await;
    assert_eq!(
        (&undone["executionState"], &undone["undoToken"]),
        (&json!("undone"), &Value::Null)
    );
    let trace = entry(app, tenant_admin, crate::fixture::id(&body["traceLogId"])).await;
    let reported = ["source", "executionState", "undoToken", "sourceLogId"].map(|name| trace[name].clone());
    assert_eq!(
        reported,
        [json!("undo"), json!("done"), Value::Null, json!(done.log_id)]
    );
    assert_eq!(trace["changes"], json!({"name": {"from": "Renamed", "to": "Clerk"}}));
    assert_eq!(trace["context"]["historyAction"], "undo");
    assert_eq!(app.undo(&tenant_admin.token, &done).await, (400, unavailable()));
}

#[actix_web::test]
async fn aud_6_edits_are_undone_last_first_and_redone_first_first() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin, role) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.role);
    let first = rename(&fixture, tenant_admin, role, "One").await;
    let second = rename(&fixture, tenant_admin, role, "Two").await;

    assert_eq!(app.undo(&tenant_admin.token, &first).await, (400, unavailable()));
    assert_eq!(app.undo(&tenant_admin.token, &second).await.0, 200);
    assert_eq!(app.undo(&tenant_admin.token, &first).await.0, 200);
    assert_eq!(name_of(&fixture, role).await, "Clerk");

    let not_the_top = app.redo(&tenant_admin.token, &second).await;
    assert_eq!(not_the_top, (400, json!({"error": "Redo target not available"})));
    assert_eq!(app.redo(&tenant_admin.token, &first).await.0, 200);
    assert_eq!(name_of(&fixture, role).await, "One");
    assert_eq!(app.redo(&tenant_admin.token, &second).await.0, 200);
    assert_eq!(name_of(&fixture, role).await, "Two");
}

#[actix_web::test]
async fn aud_7_an_edit_below_another_ones_waits_for_it() {
    let fixture = Fixture::new().await;
    let (app, a, b) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a.admin);
    let colleague = fixture.a.colleague.id;
    let edit = async |caller: &crate::fixture::Account, body: Value| {
        Call::put("/auth/users", body)
            .send(app, &caller.token)
            .await
            .undoable_write()
    };
    let by_a = edit(a, json!({"id": colleague, "name": "By A"})).await;
    let by_b = edit(b, json!({"id": colleague, "isActive": false})).await;

    assert_eq!(app.undo(&a.token, &by_a).await, (400, unavailable()));
    assert_eq!(user(&fixture, colleague).await["isActive"], false);
    assert_eq!(app.undo(&b.token, &by_b).await.0, 200);
    assert_eq!(app.undo(&a.token, &by_a).await.0, 200);

    let found = user(&fixture, colleague).await;
    assert_eq!(
        (&found["name"], &found["isActive"]),
        (&json!("Name of colleague@alpha.test"), &json!(true))
    );
}

#[actix_web::test]
async fn aud_8_a_change_behind_the_log_is_a_conflict_that_names_the_field() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin, colleague) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.colleague.id);
    let body = json!({"id": colleague, "isActive": false});
    let done = Call::put("/auth/users", body)
        .send(app, &tenant_admin.token)
        .await
        .undoable_write();
    app.sql(&format!(
        "update auth_users set name = 'Behind' where id = '{colleague}'"
    ))
    .await;
    let before = app.snapshot().await;

    let (status, body) = app.undo(&tenant_admin.token, &done).await;

    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["name"]))
    );
    assert_eq!(app.snapshot().await, before);
}

#[actix_web::test]
async fn aud_22_a_put_without_a_difference_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin, colleague) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a.colleague);
    let before = app.snapshot().await;

    for call in [
        Call::put("/auth/roles", json!({"id": fixture.a.role, "name": "Clerk"})),
        Call::put("/auth/roles", json!({"id": fixture.a.role})),
        Call::put(
            "/auth/roles/acl",
            json!({"roleId": fixture.a.role, "features": ["auth.users.list"]}),
        ),
        Call::put(
            "/auth/users",
            json!({"id": colleague.id, "isActive": true, "organizationId": fixture.a.child}),
        ),
        Call::put("/auth/profile", json!({"name": "Name of keeper@alpha.test"})),
        Call::put(
            "/directory/organizations",
            json!({"id": fixture.a.child, "parentId": fixture.a.parent}),
        ),
    ] {
        let response = call.send(app, &tenant_admin.token).await;

        assert_eq!(response.status, 200, "{call}: {}", response.text());
        assert_eq!(response.operation(), None, "{call}");
    }

    assert_eq!(app.snapshot().await, before);
    assert_eq!(
        entries(app, tenant_admin, &format!("actorUserId={}", tenant_admin.id)).await,
        Vec::<Value>::new()
    );
}

#[actix_web::test]
async fn what_is_not_there_is_not_what_was_expected() {
    let fixture = Fixture::new().await;
    let (app, plain) = (&fixture.app, &fixture.a.plain);
    let call = Call::put(
        "/auth/profile/consents",
        json!({"consentType": "terms", "isGranted": true}),
    );
    let before = app.snapshot().await;

    let request = call
        .request(app, &plain.token)
        .header("If-Match", "\"2026-11-20T08:00:00.000Z\"");
    let response = request.send().await;

    let body = response.json();
    let reported = (
        response.status,
        &body["code"],
        &body["currentUpdatedAt"],
        &body["expectedUpdatedAt"],
    );
    let (code, expected) = (json!("optimistic_lock_conflict"), json!("2026-11-20T08:00:00.000Z"));
    assert_eq!(reported, (409, &code, &Value::Null, &expected), "{body}");
    assert_eq!(app.snapshot().await, before);
    assert_eq!(
        call.send(app, &plain.token).await.status,
        200,
        "without the header there is no check"
    );
}
