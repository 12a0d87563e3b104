//! Edits and their order.

use serde_json::{Value, json};

use super::{name_of, rename, user};
use crate::call::Call;
use crate::history::{entries, entry, operation, redo, unavailable, undo};
use crate::world::World;

#[actix_web::test]
async fn aud_4_an_update_is_listed_with_exactly_its_changes_and_its_token() {
    let world = World::new().await;
    let (keeper, colleague) = (&world.a.keeper, &world.a.colleague);
    let body = json!({"id": colleague.id, "name": "Renamed", "isActive": true});
    let response = Call::put("/auth/users", body).send(&world.app, &keeper.token).await;
    let done = operation(&response);

    let found = entry(&world.app, keeper, done.log_id).await;

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
        ("actorUserId", json!(keeper.id)),
        ("actorUserName", json!("Name of keeper@alpha.test")),
        ("tenantId", json!(world.a.tenant)),
        ("organizationId", json!(world.a.child)),
        ("resourceKind", json!("auth.user")),
        ("resourceId", json!(colleague.id)),
    ];
    for (member, value) in expected {
        assert_eq!(found[member], value, "{member}");
    }
    for member in [
        "id",
        "organizationId",
        "createdAt",
        "updatedAt",
        "email",
        "isActive",
        "roleIds",
    ] {
        assert!(found["snapshotAfter"].get(member).is_some(), "{member}");
    }
    assert_eq!(found["snapshotAfter"]["name"], "Renamed");
}

#[actix_web::test]
async fn aud_5_undo_gives_back_the_record_and_uses_the_token_up() {
    let world = World::new().await;
    let (app, keeper, role) = (&world.app, &world.a.keeper, world.a.role);
    let done = rename(&world, keeper, role, "Renamed").await;

    let (status, body) = undo(app, keeper, &done.token).await;

    assert_eq!((status, &body["logId"]), (200, &json!(done.log_id)), "{body}");
    assert_eq!(name_of(&world, role).await, "Dispatcher");
    let undone = entry(app, keeper, done.log_id).await;
    assert_eq!(
        (&undone["executionState"], &undone["undoToken"]),
        (&json!("undone"), &Value::Null)
    );
    let trace = entry(app, keeper, crate::world::id(&body["traceLogId"])).await;
    let told = ["source", "executionState", "undoToken", "sourceLogId"].map(|member| trace[member].clone());
    assert_eq!(told, [json!("undo"), json!("done"), Value::Null, json!(done.log_id)]);
    assert_eq!(
        trace["changes"],
        json!({"name": {"from": "Renamed", "to": "Dispatcher"}})
    );
    assert_eq!(trace["context"]["historyAction"], "undo");
    assert_eq!(undo(app, keeper, &done.token).await, (400, unavailable()));
}

#[actix_web::test]
async fn aud_6_edits_are_undone_last_first_and_redone_first_first() {
    let world = World::new().await;
    let (app, keeper, role) = (&world.app, &world.a.keeper, world.a.role);
    let first = rename(&world, keeper, role, "One").await;
    let second = rename(&world, keeper, role, "Two").await;

    assert_eq!(undo(app, keeper, &first.token).await, (400, unavailable()));
    assert_eq!(undo(app, keeper, &second.token).await.0, 200);
    assert_eq!(undo(app, keeper, &first.token).await.0, 200);
    assert_eq!(name_of(&world, role).await, "Dispatcher");

    let not_the_top = redo(app, keeper, second.log_id).await;
    assert_eq!(not_the_top, (400, json!({"error": "Redo target not available"})));
    assert_eq!(redo(app, keeper, first.log_id).await.0, 200);
    assert_eq!(name_of(&world, role).await, "One");
    assert_eq!(redo(app, keeper, second.log_id).await.0, 200);
    assert_eq!(name_of(&world, role).await, "Two");
}

#[actix_web::test]
async fn aud_7_an_edit_below_another_ones_waits_for_it() {
    let world = World::new().await;
    let (app, a, b) = (&world.app, &world.a.keeper, &world.a.admin);
    let colleague = world.a.colleague.id;
    let edit = async |caller: &crate::world::Account, body: Value| {
        operation(&Call::put("/auth/users", body).send(app, &caller.token).await)
    };
    let by_a = edit(a, json!({"id": colleague, "name": "By A"})).await;
    let by_b = edit(b, json!({"id": colleague, "isActive": false})).await;

    assert_eq!(undo(app, a, &by_a.token).await, (400, unavailable()));
    assert_eq!(user(&world, colleague).await["isActive"], false);
    assert_eq!(undo(app, b, &by_b.token).await.0, 200);
    assert_eq!(undo(app, a, &by_a.token).await.0, 200);

    let found = user(&world, colleague).await;
    assert_eq!(
        (&found["name"], &found["isActive"]),
        (&json!("Name of colleague@alpha.test"), &json!(true))
    );
}

#[actix_web::test]
async fn aud_8_a_change_behind_the_log_is_a_conflict_that_names_the_field() {
    let world = World::new().await;
    let (app, keeper, colleague) = (&world.app, &world.a.keeper, world.a.colleague.id);
    let body = json!({"id": colleague, "isActive": false});
    let done = operation(&Call::put("/auth/users", body).send(app, &keeper.token).await);
    app.sql(&format!(
        "update auth_users set name = 'Behind' where id = '{colleague}'"
    ))
    .await;
    let before = app.image().await;

    let (status, body) = undo(app, keeper, &done.token).await;

    assert_eq!(
        (status, &body["code"], &body["fields"]),
        (400, &json!("undo_conflict"), &json!(["name"]))
    );
    assert_eq!(app.image().await, before);
}

#[actix_web::test]
async fn aud_22_a_put_without_a_difference_leaves_no_trace() {
    let world = World::new().await;
    let (app, keeper, colleague) = (&world.app, &world.a.keeper, &world.a.colleague);
    let before = app.image().await;

    for call in [
        Call::put("/auth/roles", json!({"id": world.a.role, "name": "Dispatcher"})),
        Call::put("/auth/roles", json!({"id": world.a.role})),
        Call::put(
            "/auth/roles/acl",
            json!({"roleId": world.a.role, "features": ["auth.users.list"]}),
        ),
        Call::put(
            "/auth/users",
            json!({"id": colleague.id, "isActive": true, "organizationId": world.a.child}),
        ),
        Call::put("/auth/profile", json!({"name": "Name of keeper@alpha.test"})),
        Call::put(
            "/directory/organizations",
            json!({"id": world.a.child, "parentId": world.a.parent}),
        ),
    ] {
        let response = call.send(app, &keeper.token).await;

        assert_eq!(response.status, 200, "{call}: {}", response.text());
        assert_eq!(response.operation(), None, "{call}");
    }

    assert_eq!(app.image().await, before);
    assert_eq!(
        entries(app, keeper, &format!("actorUserId={}", keeper.id)).await,
        Vec::<Value>::new()
    );
}

#[actix_web::test]
async fn what_is_not_there_is_not_what_was_expected() {
    let world = World::new().await;
    let (app, plain) = (&world.app, &world.a.plain);
    let call = Call::put(
        "/auth/profile/consents",
        json!({"consentType": "terms", "isGranted": true}),
    );
    let before = app.image().await;

    let request = call
        .request(app, &plain.token)
        .header("If-Match", "\"2026-11-20T08:00:00.000Z\"");
    let response = request.send().await;

    let body = response.json();
    let told = (
        response.status,
        &body["code"],
        &body["currentUpdatedAt"],
        &body["expectedUpdatedAt"],
    );
    let (code, expected) = (json!("optimistic_lock_conflict"), json!("2026-11-20T08:00:00.000Z"));
    assert_eq!(told, (409, &code, &Value::Null, &expected), "{body}");
    assert_eq!(app.image().await, before);
    assert_eq!(
        call.send(app, &plain.token).await.status,
        200,
        "without the header there is no check"
    );
}
