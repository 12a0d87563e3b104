use actix_web::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{PREFERENCES, in_locale, ordered};
use crate::fixture::Fixture;

async fn role_settings(fixture: &Fixture, token: &str, role: Uuid) -> (u16, Value) {
    fixture.app.get(token, &format!("{PREFERENCES}?roleId={role}")).await
}

#[actix_web::test]
async fn without_settings_there_are_defaults() {
    let fixture = Fixture::new().await;
    let (_, plain) = fixture.user("ann@alpha.test", &[]).await;

    let (status, own) = fixture.app.get(&plain, PREFERENCES).await;
    let (_, admins) = fixture.app.get(&fixture.a.token, PREFERENCES).await;

    let defaults = json!({"version": 1, "groupOrder": [], "groupLabels": {}, "itemLabels": {}, "hiddenItems": [],
        "itemOrder": {}});
    assert_eq!(status, 200);
    assert_eq!(
        own,
        json!({"locale": "en", "settings": defaults, "canApplyToRoles": false, "roles": [], "scope": {"type": "user"},
            "updatedAt": null})
    );
    assert_eq!(admins["canApplyToRoles"], true);
    let names: Vec<&str> = admins["roles"]
        .as_array()
        .expect("roles")
        .iter()
        .filter_map(|role| role["name"].as_str())
        .collect();
    assert_eq!(names, ["admin", "employee"], "by name, and no super administrators");
}

#[actix_web::test]
async fn own_settings_are_kept_by_locale() {
    let fixture = Fixture::new().await;
    let body = json!({"groupOrder": [" b ", "a", "", "b"], "itemLabels": {"users": " People "}});

    let (status, written) = fixture.app.put(&fixture.a.token, PREFERENCES, body).await;
    let (_, english) = fixture.app.get(&fixture.a.token, PREFERENCES).await;
    let polish = in_locale(&fixture.app, &fixture.a.token, "pl", Method::GET, PREFERENCES, None).await;

    assert_eq!(status, 200, "{written}");
    assert_eq!(english["settings"]["groupOrder"], json!(["b", "a"]));
    assert_eq!(english["settings"]["itemLabels"], json!({"users": "People"}));
    assert_eq!(english["updatedAt"], written["updatedAt"]);
    assert_eq!(
        (written["appliedRoles"].clone(), written["clearedRoles"].clone()),
        (json!([]), json!([]))
    );
    let polish = polish.json();
    assert_eq!(
        (polish["locale"].as_str(), polish["updatedAt"].clone()),
        (Some("pl"), json!(null))
    );
}

#[actix_web::test]
async fn settings_win_over_the_fields_beside_them() {
    let fixture = Fixture::new().await;
    let body = json!({"settings": ordered("inside"), "groupOrder": ["outside"], "version": 7});

    let (_, written) = fixture.app.put(&fixture.a.token, PREFERENCES, body).await;

    assert_eq!(written["settings"], ordered("inside"));
}

#[actix_web::test]
async fn malformed_settings_are_rejected() {
    let fixture = Fixture::new().await;
    for body in [
        json!({"version": 0}),
        json!({"version": 1.5}),
        json!({"settings": {"version": 3_000_000_000_u64}}),
        json!({"settings": {"groupOrder": "a"}}),
        json!({"settings": {"hiddenItems": ["x".repeat(129)]}}),
        json!({"itemLabels": {"a": "x".repeat(121)}}),
        json!({"groupOrder": vec!["x"; 201]}),
        json!({"applyToRoles": ["x"]}),
        json!({"scope": {"type": "tenant"}}),
        json!({"scope": {"type": "role"}}),
        json!({"scope": {"type": "role", "roleId": "x"}}),
    ] {
        let (status, response) = fixture.app.put(&fixture.a.token, PREFERENCES, body.clone()).await;

        assert_eq!(
            (status, response["error"].as_str()),
            (400, Some("Invalid input")),
            "{body}"
        );
    }
    assert!(
        fixture
            .app
            .rows("select id from auth_sidebar_preferences")
            .await
            .is_empty()
    );
}

#[actix_web::test]
async fn own_settings_are_applied_to_roles_and_taken_from_others() {
    let fixture = Fixture::new().await;
    let (one, two) = (
        fixture.role("One", &[], None).await,
        fixture.role("Two", &[], None).await,
    );
    let put = |body| fixture.app.put(&fixture.a.token, PREFERENCES, body);
    put(json!({"settings": ordered("old"), "scope": {"type": "role", "roleId": two}})).await;

    let body = json!({"settings": ordered("new"), "applyToRoles": [one, one], "clearRoleIds": [two, one]});
    let (status, written) = put(body).await;

    assert_eq!(status, 200, "{written}");
    assert_eq!(written["appliedRoles"], json!([one]));
    assert_eq!(
        written["clearedRoles"],
        json!([two]),
        "who is in both gets the settings"
    );
    let (_, read) = fixture.app.get(&fixture.a.token, PREFERENCES).await;
    assert_eq!(read["roles"], written["roles"], "the response contains the change");
    let has = |id: Uuid| {
        let roles = read["roles"].as_array().expect("roles");
        let role = roles.iter().find(|role| role["id"] == id.to_string());
        role.expect("listed")["hasPreference"].clone()
    };
    assert_eq!((has(one), has(two)), (json!(true), json!(false)));
    assert_eq!(
        role_settings(&fixture, &fixture.a.token, one).await.1["settings"],
        ordered("new")
    );
    let (_, cleared) = role_settings(&fixture, &fixture.a.token, two).await;
    assert_eq!(cleared["updatedAt"], json!(null));
    assert_eq!(cleared["scope"], json!({"type": "role", "roleId": two}));
}

#[actix_web::test]
async fn acc_36_one_unknown_role_stores_nothing() {
    let fixture = Fixture::new().await;
    let role = fixture.role("One", &[], None).await;
    let (_, foreign) = fixture
        .app
        .post(&fixture.b.token, "/auth/roles", json!({"name": "Theirs"}))
        .await;
    let foreign: Uuid = crate::fixture::id_of(&foreign);
    for (list, unknown) in [
        ("applyToRoles", Uuid::from_u128(7)),
        ("clearRoleIds", Uuid::from_u128(7)),
        ("applyToRoles", foreign),
    ] {
        let body = json!({"settings": ordered("new"), "applyToRoles": [role], list: [role, unknown]});

        let (status, response) = fixture.app.put(&fixture.a.token, PREFERENCES, body).await;

        assert_eq!(
            (status, response),
            (400, json!({"error": "Invalid roles", "missing": [unknown]}))
        );
    }
    for table in ["auth_sidebar_preferences", "auth_role_sidebar_preferences"] {
        let rows = fixture.app.rows(&format!("select id from {table}")).await;
        assert!(rows.is_empty(), "{table}");
    }
}

#[actix_web::test]
async fn acc_36_settings_of_a_role_are_not_applied_to_others() {
    let fixture = Fixture::new().await;
    let role = fixture.role("One", &[], None).await;
    let scope = json!({"type": "role", "roleId": role});
    let put = |body| fixture.app.put(&fixture.a.token, PREFERENCES, body);

    for list in ["applyToRoles", "clearRoleIds"] {
        let (status, _) = put(json!({"scope": scope, list: [role]})).await;
        assert_eq!(status, 400, "{list}");
    }
    let (unknown, text) = put(json!({"scope": {"type": "role", "roleId": Uuid::from_u128(7)}})).await;
    let (status, written) = put(json!({"scope": scope, "settings": ordered("x"), "applyToRoles": []})).await;

    assert_eq!((unknown, text), (404, json!({"error": "Role not found"})));
    assert_eq!((status, written["scope"].clone()), (200, scope));
    assert!(written["updatedAt"].is_string());
    assert!(
        fixture
            .app
            .rows("select id from auth_sidebar_preferences")
            .await
            .is_empty()
    );
}

#[actix_web::test]
async fn acc_36_undo_restores_own_and_role_settings_together() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let (one, two) = (
        fixture.role("One", &[], None).await,
        fixture.role("Two", &[], None).await,
    );
    let put = |body| app.send(token, Method::PUT, PREFERENCES, body);
    put(json!({"settings": ordered("old"), "applyToRoles": [two]})).await;

    let done = put(json!({"settings": ordered("new"), "applyToRoles": [one], "clearRoleIds": [two]})).await;
    let entries = "select id from audit_action_logs where command_id = 'auth.sidebar_preference.update'";
    assert_eq!(app.rows(entries).await.len(), 2, "one entry each");
    let (undone, body) = app.undo(token, &done).await;

    assert_eq!(undone, 200, "{body}");
    let (_, own) = app.get(token, PREFERENCES).await;
    assert_eq!(own["settings"], ordered("old"));
    assert_eq!(role_settings(&fixture, token, one).await.1["updatedAt"], json!(null));
    assert_eq!(role_settings(&fixture, token, two).await.1["settings"], ordered("old"));

    assert_eq!(app.redo(token, &done).await.0, 200);
    assert_eq!(role_settings(&fixture, token, one).await.1["settings"], ordered("new"));
    assert_eq!(role_settings(&fixture, token, two).await.1["updatedAt"], json!(null));
}

#[actix_web::test]
async fn acc_36_the_settings_of_a_role_are_deleted_twice() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let role = fixture.role("One", &[], None).await;
    let path = format!("{PREFERENCES}?roleId={role}");
    let body = json!({"settings": ordered("x"), "scope": {"type": "role", "roleId": role}});
    app.send(token, Method::PUT, PREFERENCES, body).await;
    let delete = || app.request(Method::DELETE, &path).bearer(token).send();

    let (first, second) = (delete().await, delete().await);

    let expected = json!({"ok": true, "scope": {"type": "role", "roleId": role}});
    assert_eq!((first.status, first.json()), (200, expected.clone()));
    assert_eq!((second.status, second.json()), (200, expected));
    assert!(second.operation().is_none(), "there was nothing to undo");
    assert_eq!(app.undo(token, &first).await.0, 200);
    assert_eq!(role_settings(&fixture, token, role).await.1["settings"], ordered("x"));
    for (query, status, text) in [
        ("", 400, "Role id required"),
        ("?roleId=x", 400, "Role id required"),
        ("?roleId=00000000-0000-0000-0000-000000000007", 404, "Role not found"),
    ] {
        let (reported, body) = app.delete(token, &format!("{PREFERENCES}{query}"), json!(null)).await;
        assert_eq!((reported, body["error"].as_str()), (status, Some(text)), "{query}");
    }
}

#[actix_web::test]
async fn settings_of_roles_are_for_those_who_manage_sidebars() {
    let fixture = Fixture::new().await;
    let role = fixture.role("One", &[], None).await;
    let (_, plain) = fixture.user("ann@alpha.test", &["One"]).await;

    let (status, body) = role_settings(&fixture, &plain, role).await;
    let (malformed, _) = fixture.app.get(&plain, &format!("{PREFERENCES}?roleId=x")).await;
    let (write, _) = fixture.app.put(&plain, PREFERENCES, json!({})).await;
    let (foreign, _) = role_settings(&fixture, &fixture.b.token, role).await;
    let (invalid, _) = fixture
        .app
        .get(&fixture.a.token, &format!("{PREFERENCES}?roleId=x"))
        .await;

    assert_eq!(
        (status, body["requiredFeatures"].clone()),
        (403, json!(["auth.sidebar.manage"]))
    );
    assert_eq!((malformed, write, foreign, invalid), (403, 403, 404, 400));
}

#[actix_web::test]
async fn a_tenant_has_its_own_settings_for_a_global_role() {
    let fixture = Fixture::new().await;
    let (_, body) = fixture
        .app
        .post(&fixture.root, "/auth/roles", json!({"name": "Auditor"}))
        .await;
    let role = crate::fixture::id_of(&body);
    let body = json!({"settings": ordered("alpha"), "applyToRoles": [role]});

    let (status, _) = fixture.app.put(&fixture.a.token, PREFERENCES, body).await;

    assert_eq!(status, 200);
    assert_eq!(
        role_settings(&fixture, &fixture.a.token, role).await.1["settings"],
        ordered("alpha")
    );
    assert_eq!(
        role_settings(&fixture, &fixture.b.token, role).await.1["updatedAt"],
        json!(null)
    );
}

#[actix_web::test]
async fn a_super_administrator_changes_the_roles_of_a_selected_tenant() {
    let fixture = Fixture::new().await;
    let role = fixture.role("One", &[], None).await;
    let put = |body: Value, tenant: String| {
        let request = fixture.app.request(Method::PUT, PREFERENCES).bearer(&fixture.root);
        request.header("x-tenant-id", &tenant).json(&body).send()
    };
    let for_role = json!({"settings": ordered("x"), "scope": {"type": "role", "roleId": role}});

    let written = put(for_role.clone(), fixture.a.id.to_string()).await;
    let elsewhere = put(for_role.clone(), fixture.b.id.to_string()).await;
    let nowhere = put(for_role, "all".to_owned()).await;
    let both = put(json!({"applyToRoles": [role]}), fixture.a.id.to_string()).await;
    let own = put(json!({"settings": ordered("mine")}), fixture.a.id.to_string()).await;

    assert_eq!((written.status, elsewhere.status, nowhere.status), (200, 404, 400));
    assert_eq!(
        (both.status, both.json()["code"].clone()),
        (400, json!("roles_of_another_tenant"))
    );
    assert_eq!(own.status, 200);
    let rows = fixture.app.rows("select tenant_id from auth_sidebar_preferences").await;
    assert_eq!(
        rows[0]["tenant_id"],
        Uuid::nil().to_string(),
        "own settings are where the caller is"
    );
}

#[actix_web::test]
async fn a_change_without_a_difference_writes_nothing() {
    let fixture = Fixture::new().await;
    let role = fixture.role("One", &[], None).await;
    let put = |body| fixture.app.send(&fixture.a.token, Method::PUT, PREFERENCES, body);
    let body = json!({"settings": ordered("x"), "applyToRoles": [role]});
    let first = put(body.clone()).await;
    fixture.app.advance(time::Duration::minutes(1));

    let second = put(body).await;
    let only_role = put(json!({"settings": ordered("x"), "clearRoleIds": [role]})).await;

    assert!(second.operation().is_none());
    assert_eq!(second.json()["updatedAt"], first.json()["updatedAt"]);
    assert!(only_role.operation().is_some());
    assert_eq!(
        only_role.json()["updatedAt"],
        first.json()["updatedAt"],
        "the own settings stay as they were"
    );
}

#[actix_web::test]
async fn many_first_writes_at_once_create_one_row_and_a_chain_of_changes() {
    let fixture = Fixture::new().await;
    let put = |number: usize| {
        let body = json!({"settings": ordered(&number.to_string())});
        fixture.app.send(&fixture.a.token, Method::PUT, PREFERENCES, body)
    };

    let responses = futures_util::future::join_all((0..10).map(put)).await;

    assert!(responses.iter().all(|response| response.status == 200));
    let rows = fixture.app.rows("select id from auth_sidebar_preferences").await;
    assert_eq!(rows.len(), 1);
    let entries = fixture
        .app
        .rows("select snapshot_before from audit_action_logs where command_id = 'auth.sidebar_preference.update'")
        .await;
    let first = entries.iter().filter(|entry| entry["snapshot_before"].is_null());
    assert_eq!((entries.len(), first.count()), (10, 1));
}
