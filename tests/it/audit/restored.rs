//! What comes back, and what stands against it.

use backoffice_core::http::AUTH_COOKIE;
use serde_json::{Value, json};

use super::{name_of, rename, user};
use crate::call::Call;
use crate::history::{REDO, entry, operation, redo, undo};
use crate::scenarios::rich;
use crate::world::{PASSWORD, World, id};

#[actix_web::test]
async fn aud_14_an_undone_creation_is_nowhere_and_comes_back_with_its_id() {
    let world = World::new().await;
    let (app, keeper) = (&world.app, &world.a.keeper);
    let call = Call::post("/auth/roles", json!({"name": "Short-lived"}));
    let done = operation(&call.send(app, &keeper.token).await);

    assert_eq!(undo(app, keeper, &done.token).await.0, 200);

    for query in [format!("id={}", done.resource), "search=short-liv".to_owned()] {
        let (_, page) = app.get(&keeper.token, &format!("/auth/roles?{query}")).await;
        assert_eq!((&page["total"], &page["items"]), (&json!(0), &json!([])), "{query}");
    }
    let detail = app
        .get(&keeper.token, &format!("/auth/roles/acl?roleId={}", done.resource))
        .await;
    assert_eq!(detail, (404, json!({"error": "Role not found"})));

    assert_eq!(redo(app, keeper, done.log_id).await.0, 200);
    assert_eq!(name_of(&world, done.resource).await, "Short-lived");
}

#[actix_web::test]
async fn aud_14_a_creation_with_a_later_child_stays() {
    let world = World::new().await;
    let (app, keeper) = (&world.app, &world.a.keeper);
    let make = async |body: Value| {
        operation(
            &Call::post("/directory/organizations", body)
                .send(app, &keeper.token)
                .await,
        )
    };
    let done = make(json!({"name": "Above"})).await;
    make(json!({"name": "Below", "parentId": done.resource})).await;

    let (status, body) = undo(app, keeper, &done.token).await;

    let told = (status, &body["code"], &body["fields"]);
    assert_eq!(told, (400, &json!("undo_conflict"), &json!(["directory.organization"])));
}

#[actix_web::test]
async fn aud_14_a_role_that_got_an_acl_or_a_holder_stays() {
    let world = World::new().await;
    let (app, keeper) = (&world.app, &world.a.keeper);
    let make = async |name: &str| {
        operation(
            &Call::post("/auth/roles", json!({"name": name}))
                .send(app, &keeper.token)
                .await,
        )
    };
    let (with_acl, held) = (make("With ACL").await, make("Held").await);
    let acl = json!({"roleId": with_acl.resource, "features": ["auth.users.list"]});
    assert_eq!(app.put(&keeper.token, "/auth/roles/acl", acl).await.0, 200);
    let holder = json!({"id": world.a.colleague.id, "roles": ["Held"]});
    assert_eq!(app.put(&keeper.token, "/auth/users", holder).await.0, 200);

    for done in [with_acl, held] {
        let (status, body) = undo(app, keeper, &done.token).await;
        assert_eq!((status, &body["code"]), (400, &json!("undo_conflict")), "{body}");
    }
}

#[actix_web::test]
async fn aud_15_a_deleted_user_comes_back_able_to_sign_in_but_signed_out() {
    let world = rich(World::new().await).await;
    let (app, keeper, colleague) = (&world.app, &world.a.keeper, &world.a.colleague);
    let before = user(&world, colleague.id).await;
    let acl = async || {
        let path = format!("/auth/users/acl?userId={}", colleague.id);
        let (status, mut acl) = app.get(&keeper.token, &path).await;
        assert_eq!(status, 200, "{acl}");
        acl.as_object_mut().expect("an ACL").remove("updatedAt");
        acl
    };
    let acl_before = acl().await;
    assert_eq!(
        (&acl_before["hasCustomAcl"], &acl_before["organizations"]),
        (&json!(true), &json!([world.a.child]))
    );
    let done = operation(&Call::delete("/auth/users", colleague.id).send(app, &keeper.token).await);
    assert_eq!(user(&world, colleague.id).await, Value::Null);
    let signing_in = json!({"email": colleague.email, "password": PASSWORD});
    assert_eq!(app.post("", "/auth/login", signing_in).await.0, 401);

    assert_eq!(undo(app, keeper, &done.token).await.0, 200);

    let after = user(&world, colleague.id).await;
    for member in [
        "id",
        "email",
        "name",
        "roles",
        "roleIds",
        "organizationId",
        "createdAt",
        "hasPassword",
    ] {
        assert_eq!(after[member], before[member], "{member}");
    }
    assert_eq!(acl().await, acl_before);
    assert_eq!(world.sign_in(&colleague.email).await.id, colleague.id);
    assert_eq!(app.get(&colleague.token, "/auth/profile").await.0, 401);
    let refresh = json!({"refreshToken": colleague.refresh_token});
    assert_eq!(app.post("", "/auth/session/refresh", refresh).await.0, 401);
    let by_cookie = Call::get("/auth/profile")
        .bare(app, "")
        .cookie(AUTH_COOKIE, &colleague.token);
    assert_eq!(by_cookie.send().await.status, 401);
}

#[actix_web::test]
async fn a_unique_value_that_was_taken_since_is_a_conflict() {
    let world = World::new().await;
    let (app, keeper) = (&world.app, &world.a.keeper);
    let done = rename(&world, keeper, world.a.role, "Renamed").await;
    let taken = app
        .post(&keeper.token, "/auth/roles", json!({"name": "dispatcher"}))
        .await;
    assert_eq!(taken.0, 201);
    let before = app.image().await;

    let (status, body) = undo(app, keeper, &done.token).await;

    let told = (status, &body["code"], &body["fields"]);
    assert_eq!(told, (400, &json!("undo_conflict"), &json!(["name"])), "{body}");
    assert_eq!(app.image().await, before);
}

#[actix_web::test]
async fn a_role_that_is_gone_is_left_out_and_named() {
    let world = World::new().await;
    let (app, keeper, colleague) = (&world.app, &world.a.keeper, world.a.colleague.id);
    let set = async |roles: Value| {
        let body = json!({"id": colleague, "roles": roles});
        operation(&Call::put("/auth/users", body).send(app, &keeper.token).await)
    };
    set(json!(["Spare", "Dispatcher"])).await;
    let emptied = set(json!([])).await;
    let deleted = Call::delete("/auth/roles", world.a.spare_role)
        .send(app, &keeper.token)
        .await;
    assert_eq!(deleted.status, 200);

    let (status, body) = undo(app, keeper, &emptied.token).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(user(&world, colleague).await["roleIds"], json!([world.a.role]));
    let trace = entry(app, keeper, id(&body["traceLogId"])).await;
    assert_eq!(
        trace["context"]["dropped"],
        json!([format!("auth.role:{}", world.a.spare_role)])
    );
}

#[actix_web::test]
async fn somebody_limited_to_an_organization_brings_back_what_it_deleted_there() {
    let world = World::new().await;
    let (app, local, leaf) = (&world.app, &world.a.local, world.a.leaf);
    let path = format!("/directory/organizations?id={leaf}");
    let done = operation(
        &Call::delete("/directory/organizations", leaf)
            .send(app, &local.token)
            .await,
    );
    assert_eq!(app.get(&local.token, &path).await.1["total"], 0);

    let (foreign, _) = undo(app, &world.b.local, &done.token).await;
    let (undone, body) = undo(app, local, &done.token).await;

    assert_eq!((foreign, undone), (400, 200), "{body}");
    assert_eq!(app.get(&local.token, &path).await.1["total"], 1);
    assert_eq!(redo(app, local, done.log_id).await.0, 200);
}

#[actix_web::test]
async fn what_takes_an_entry_back_is_found_where_the_entry_is() {
    let world = World::new().await;
    let (app, a) = (&world.app, &world.a);
    let places = [
        Call::put("/auth/users", json!({"id": a.colleague.id, "organizationId": a.other})),
        Call::put("/directory/organizations", json!({"id": a.leaf, "parentId": a.other})),
    ];

    for call in places {
        let done = operation(&call.send(app, &a.keeper.token).await);
        assert_eq!(undo(app, &a.keeper, &done.token).await.0, 200, "{call}");
        let (status, redone) = redo(app, &a.keeper, done.log_id).await;
        assert_eq!(status, 200, "{call}");

        let rows = app
            .rows(&format!(
                "select organization_id, parent_resource_kind, parent_resource_id, related from audit_action_logs
                 where id = '{0}' or source_log_id = '{0}'",
                done.log_id
            ))
            .await;
        assert_eq!(rows.len(), 3, "{call}");
        assert!(rows.iter().all(|row| *row == rows[0]), "{rows:?}");
        let label = &entry(app, &a.keeper, id(&redone["logId"])).await["actionLabel"];
        assert!(
            label.as_str().is_some_and(|label| label.starts_with("Redo: ")),
            "{label}"
        );
    }
}

#[actix_web::test]
async fn a_redo_is_labelled_alike_in_its_header_and_its_entry() {
    let world = World::new().await;
    let (app, keeper) = (&world.app, &world.a.keeper);
    let done = rename(&world, keeper, world.a.role, "Renamed").await;
    assert_eq!(undo(app, keeper, &done.token).await.0, 200);

    let call = Call::post(REDO, json!({"logId": done.log_id}));
    let response = call.send(app, &keeper.token).await;

    let told = response.operation().expect("a header");
    let entry = entry(app, keeper, id(&told["id"])).await;
    assert_eq!(told["actionLabel"], "Redo: Update role");
    assert_eq!(entry["actionLabel"], told["actionLabel"]);
}
