//! Restored resources, and obstacles to restoring them.

use backoffice_core::http::AUTH_COOKIE;
use backoffice_test_support::REDO;
use serde_json::{Value, json};

use super::{name_of, rename, user};
use crate::call::Call;
use crate::fixture::{Fixture, PASSWORD, id};
use crate::history::entry;
use crate::scenarios::rich;

#[actix_web::test]
async fn aud_14_an_undone_creation_is_nowhere_and_comes_back_with_its_id() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let call = Call::post("/auth/roles", json!({"name": "Short-lived"}));
    let done = call.send(app, &tenant_admin.token).await.undoable_write();

    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);

    for query in [format!("id={}", done.resource), "search=short-liv".to_owned()] {
        let (_, page) = app.get(&tenant_admin.token, &format!("/auth/roles?{query}")).await;
        assert_eq!((&page["total"], &page["items"]), (&json!(0), &json!([])), "{query}");
    }
    let detail = app
        .get(
            &tenant_admin.token,
            &format!("/auth/roles/acl?roleId={}", done.resource),
        )
        .await;
    assert_eq!(detail, (404, json!({"error": "Role not found"})));

    assert_eq!(app.redo(&tenant_admin.token, &done).await.0, 200);
    assert_eq!(name_of(&fixture, done.resource).await, "Short-lived");
}

#[actix_web::test]
async fn aud_14_a_creation_with_a_later_child_stays() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let create = async |body: Value| {
        Call::post("/directory/organizations", body)
            .send(app, &tenant_admin.token)
            .await
            .undoable_write()
    };
    let done = create(json!({"name": "Above"})).await;
    create(json!({"name": "Below", "parentId": done.resource})).await;

    let (status, body) = app.undo(&tenant_admin.token, &done).await;

    let reported = (status, &body["code"], &body["fields"]);
    assert_eq!(
        reported,
        (400, &json!("undo_conflict"), &json!(["directory.organization"]))
    );
}

#[actix_web::test]
async fn aud_14_a_role_that_got_an_acl_or_a_holder_stays() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let create = async |name: &str| {
        Call::post("/auth/roles", json!({"name": name}))
            .send(app, &tenant_admin.token)
            .await
            .undoable_write()
    };
    let (with_acl, held) = (create("With ACL").await, create("Held").await);
    let acl = json!({"roleId": with_acl.resource, "features": ["auth.users.list"]});
    assert_eq!(app.put(&tenant_admin.token, "/auth/roles/acl", acl).await.0, 200);
    let holder = json!({"id": fixture.a.colleague.id, "roles": ["Held"]});
    assert_eq!(app.put(&tenant_admin.token, "/auth/users", holder).await.0, 200);

    for (done, kind) in [(with_acl, "auth.role_acl"), (held, "auth.user")] {
        let (status, body) = app.undo(&tenant_admin.token, &done).await;
        let reported = (status, &body["code"], &body["fields"]);
        assert_eq!(reported, (400, &json!("undo_conflict"), &json!([kind])), "{body}");
    }
}

#[actix_web::test]
async fn aud_15_a_deleted_user_comes_back_able_to_sign_in_but_signed_out() {
    let fixture = rich(Fixture::new().await).await;
    let (app, tenant_admin, colleague) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a.colleague);
    let before = user(&fixture, colleague.id).await;
    let acl = async || {
        let path = format!("/auth/users/acl?userId={}", colleague.id);
        let (status, mut acl) = app.get(&tenant_admin.token, &path).await;
        assert_eq!(status, 200, "{acl}");
        acl.as_object_mut().expect("an ACL").remove("updatedAt");
        acl
    };
    let acl_before = acl().await;
    assert_eq!(
        (&acl_before["hasCustomAcl"], &acl_before["organizations"]),
        (&json!(true), &json!([fixture.a.child]))
    );
    let done = Call::delete("/auth/users", colleague.id)
        .send(app, &tenant_admin.token)
        .await
        .undoable_write();
    assert_eq!(user(&fixture, colleague.id).await, Value::Null);
    let signing_in = json!({"email": colleague.email, "password": PASSWORD});
    assert_eq!(app.post("", "/auth/login", signing_in).await.0, 401);

    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);

    let after = user(&fixture, colleague.id).await;
    for name in [
        "id",
        "email",
        "name",
        "roles",
        "roleIds",
        "organizationId",
        "createdAt",
        "hasPassword",
    ] {
        assert_eq!(after[name], before[name], "{name}");
    }
    assert_eq!(acl().await, acl_before);
    assert_eq!(fixture.sign_in(&colleague.email).await.id, colleague.id);
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
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let done = rename(&fixture, tenant_admin, fixture.a.role, "Renamed").await;
    let taken = app
        .post(&tenant_admin.token, "/auth/roles", json!({"name": "clerk"}))
        .await;
    assert_eq!(taken.0, 201);
    let before = app.snapshot().await;

    let (status, body) = app.undo(&tenant_admin.token, &done).await;

    let reported = (status, &body["code"], &body["fields"]);
    assert_eq!(reported, (400, &json!("undo_conflict"), &json!(["name"])), "{body}");
    assert_eq!(app.snapshot().await, before);
}

#[actix_web::test]
async fn a_deleted_role_is_left_out_and_named() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin, colleague) = (&fixture.app, &fixture.a.tenant_admin, fixture.a.colleague.id);
    let set = async |roles: Value| {
        let body = json!({"id": colleague, "roles": roles});
        Call::put("/auth/users", body)
            .send(app, &tenant_admin.token)
            .await
            .undoable_write()
    };
    set(json!(["Spare", "Clerk"])).await;
    let emptied = set(json!([])).await;
    let deleted = Call::delete("/auth/roles", fixture.a.spare_role)
        .send(app, &tenant_admin.token)
        .await;
    assert_eq!(deleted.status, 200);

    let (status, body) = app.undo(&tenant_admin.token, &emptied).await;

    assert_eq!(status, 200, "{body}");
    assert_eq!(user(&fixture, colleague).await["roleIds"], json!([fixture.a.role]));
    let trace = entry(app, tenant_admin, id(&body["traceLogId"])).await;
    assert_eq!(
        trace["context"]["dropped"],
        json!([format!("auth.role:{}", fixture.a.spare_role)])
    );
}

#[actix_web::test]
async fn a_caller_limited_to_an_organization_restores_what_they_deleted_there() {
    let fixture = Fixture::new().await;
    let (app, local, leaf) = (&fixture.app, &fixture.a.local, fixture.a.leaf);
    let path = format!("/directory/organizations?id={leaf}");
    let done = Call::delete("/directory/organizations", leaf)
        .send(app, &local.token)
        .await
        .undoable_write();
    assert_eq!(app.get(&local.token, &path).await.1["total"], 0);

    let (foreign, _) = app.undo(&fixture.b.local.token, &done).await;
    let (undone, body) = app.undo(&local.token, &done).await;

    assert_eq!((foreign, undone), (400, 200), "{body}");
    assert_eq!(app.get(&local.token, &path).await.1["total"], 1);
    assert_eq!(app.redo(&local.token, &done).await.0, 200);
}

#[actix_web::test]
async fn what_takes_an_entry_back_is_found_where_the_entry_is() {
    let fixture = Fixture::new().await;
    let (app, a) = (&fixture.app, &fixture.a);
    let places = [
        Call::put("/auth/users", json!({"id": a.colleague.id, "organizationId": a.other})),
        Call::put("/directory/organizations", json!({"id": a.leaf, "parentId": a.other})),
    ];

    for call in places {
        let done = call.send(app, &a.tenant_admin.token).await.undoable_write();
        assert_eq!(app.undo(&a.tenant_admin.token, &done).await.0, 200, "{call}");
        let (status, redone) = app.redo(&a.tenant_admin.token, &done).await;
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
        let label = &entry(app, &a.tenant_admin, id(&redone["logId"])).await["actionLabel"];
        assert!(
            label.as_str().is_some_and(|label| label.starts_with("Redo: ")),
            "{label}"
        );
    }
}

#[actix_web::test]
async fn a_redo_is_labelled_alike_in_its_header_and_its_entry() {
    let fixture = Fixture::new().await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let done = rename(&fixture, tenant_admin, fixture.a.role, "Renamed").await;
    assert_eq!(app.undo(&tenant_admin.token, &done).await.0, 200);

    let call = Call::post(REDO, json!({"logId": done.log_id}));
    let response = call.send(app, &tenant_admin.token).await;

    let reported = response.operation().expect("a header");
    let entry = entry(app, tenant_admin, id(&reported["id"])).await;
    assert_eq!(reported["actionLabel"], "Redo: Update role");
    assert_eq!(entry["actionLabel"], reported["actionLabel"]);
}
