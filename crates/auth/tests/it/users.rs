//! Accounts: created, changed and deleted by an administrator.

use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account, find_account, send_link, set_active};
use backoffice_core::ids::PLATFORM_TENANT;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, account, id_of, login};

fn new_user(fixture: &Fixture, email: &str) -> Value {
    json!({"email": email, "organizationId": fixture.a.organization, "password": PASSWORD, "roles": ["employee"], "name": "Ann"})
}

#[actix_web::test]
async fn a_user_is_created_and_can_sign_in() {
    let fixture = Fixture::new().await;

    let (status, body) = fixture
        .app
        .post(&fixture.a.token, "/auth/users", new_user(&fixture, "ann@alpha.test"))
        .await;
    let (_, list) = fixture
        .app
        .get(&fixture.a.token, &format!("/auth/users?id={}", id_of(&body)))
        .await;

    assert_eq!((status, body["emailSent"].as_bool()), (201, Some(false)));
    let user = &list["items"][0];
    assert_eq!(user["roles"], json!(["employee"]));
    assert_eq!(user["organizationName"], "Alpha");
    assert_eq!(user["isConfirmed"], true);
    assert_eq!(user["hasPassword"], true);
    login(&fixture.app, "ann@alpha.test").await;
}

#[actix_web::test]
async fn invalid_input_is_rejected_and_stores_nothing() {
    let fixture = Fixture::new().await;
    let before = fixture.app.rows("select id from auth_users").await.len();
    let with = |field: &str, value: Value| {
        let mut body = new_user(&fixture, "ann@alpha.test");
        body[field] = value;
        body
    };
    for (body, status, error) in [
        (with("email", json!("ADMIN@alpha.test")), 400, "Email already in use"),
        (with("email", json!("no address")), 400, "Invalid input"),
        (
            with("organizationId", json!(fixture.b.organization)),
            400,
            "Organization not found",
        ),
        (
            with("organizationId", json!(Uuid::from_u128(1))),
            400,
            "Organization not found",
        ),
        (with("organizationId", json!("x")), 400, "Invalid input"),
        (with("roles", json!(["nope"])), 400, "Role(s) not found: \"nope\""),
        (
            with("password", json!("short")),
            400,
            "Password does not meet the requirements",
        ),
        (with("name", json!("x".repeat(121))), 400, "Invalid input"),
        (
            with("sendInviteEmail", json!(true)),
            500,
            "Invitation email is not configured",
        ),
    ] {
        let (responded, text) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;
        assert_eq!((responded, text["error"].as_str()), (status, Some(error)));
    }
    assert_eq!(fixture.app.rows("select id from auth_users").await.len(), before);
}

#[actix_web::test]
async fn search_matches_address_name_organization_and_role() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .post(&fixture.a.token, "/auth/users", new_user(&fixture, "ann_1@alpha.test"))
        .await;
    fixture
        .app
        .post(&fixture.a.token, "/auth/users", new_user(&fixture, "bob@alpha.test"))
        .await;
    let total = |query: &'static str| {
        let (app, token) = (&fixture.app, &fixture.a.token);
        async move { app.get(token, &format!("/auth/users?{query}")).await.1["total"].as_i64() }
    };

    assert_eq!(total("search=ANN_").await, Some(1));
    assert_eq!(total("search=employee").await, Some(2));
    assert_eq!(total("search=alph").await, Some(3));
    assert_eq!(total("search=%25").await, Some(0));
    assert_eq!(total("name=ann").await, Some(2));
    assert_eq!(total("roleIds=").await, Some(0));
    assert_eq!(total("pageSize=1&page=2").await, Some(3));
}

/// The lower case of Σ depends on its place in the word, so a part of a name in lower case need not be a part of the name in lower case.
#[actix_web::test]
async fn a_part_of_the_name_of_a_role_finds_its_users_in_every_script() {
    let fixture = Fixture::new().await;
    let created = fixture
        .app
        .post(&fixture.a.token, "/auth/roles", json!({"name": "ΟΔΟΣΑ"}))
        .await;
    assert_eq!(created.0, 201, "{}", created.1);
    let mut user = new_user(&fixture, "greek@alpha.test");
    user["roles"] = json!([created.1["id"]]);
    let (status, body) = fixture.app.post(&fixture.a.token, "/auth/users", user).await;
    assert_eq!(status, 201, "{body}");

    // Texts of less than three characters are searched without the index.
    for search in ["ΟΔΟΣ", "οδοσ", "ΟΔΟΣΑ", "Σ", "σα"] {
        let encoded: String = url::form_urlencoded::byte_serialize(search.as_bytes()).collect();
        let path = format!("/auth/users?search={encoded}");
        let (status, list) = fixture.app.get(&fixture.a.token, &path).await;
        assert_eq!((status, list["total"].as_i64()), (200, Some(1)), "{search}");
    }
}

#[actix_web::test]
async fn roles_filter_takes_lists_in_every_form() {
    let fixture = Fixture::new().await;
    fixture
        .app
        .post(&fixture.a.token, "/auth/users", new_user(&fixture, "ann@alpha.test"))
        .await;
    let (_, roles) = fixture.app.get(&fixture.a.token, "/auth/roles?search=employee").await;
    let id = roles["items"][0]["id"].as_str().expect("an id");
    let unknown = Uuid::from_u128(7);
    for query in [
        format!("roleIds={id}"),
        format!("roleIds={unknown},{id}"),
        format!("roleIds={unknown}&roleIds={id}"),
        format!("roleIds[]={id}"),
        format!("roleId={id}"),
    ] {
        let (status, list) = fixture.app.get(&fixture.a.token, &format!("/auth/users?{query}")).await;
        assert_eq!((status, list["total"].as_i64()), (200, Some(1)), "{query}");
    }
    assert_eq!(fixture.app.get(&fixture.a.token, "/auth/users?roleIds=x").await.0, 400);
}

#[actix_web::test]
async fn acc_32_a_deleted_user_comes_back_as_it_was_but_signed_out() {
    let fixture = Fixture::new().await;
    let (user, token) = fixture.user("ann@alpha.test", &["employee"]).await;
    let path = format!("/auth/users?id={user}");

    let deleted = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, json!(null))
        .await;
    let gone = fixture.app.get(&token, "/auth/profile").await.0;
    let (undone, _) = fixture.app.undo(&fixture.a.token, &deleted).await;
    let (own, text) = fixture
        .app
        .delete(
            &fixture.a.token,
            &format!("/auth/users?id={}", fixture.a.admin),
            json!(null),
        )
        .await;

    assert_eq!((deleted.status, gone, undone), (200, 401, 200));
    assert_eq!(
        fixture.app.get(&token, "/auth/profile").await.0,
        401,
        "the old session stays ended"
    );
    let fresh = login(&fixture.app, "ann@alpha.test").await;
    assert_eq!(
        fixture.app.get(&fresh, "/auth/profile").await.1["roles"],
        json!(["employee"])
    );
    assert_eq!((own, text["code"].as_str()), (400, Some("cannot_delete_self")));
}

#[actix_web::test]
async fn acc_33_a_set_password_shows_nowhere_and_has_no_undo() {
    let fixture = Fixture::new().await;
    let (user, token) = fixture.user("ann@alpha.test", &[]).await;
    let secret = "very unusual passphrase 4711";
    let body = json!({"id": user, "password": secret, "name": "Ann"});

    let response = fixture
        .app
        .request(Method::PUT, "/auth/users")
        .bearer(&fixture.a.token)
        .json(&body)
        .send()
        .await;

    assert_eq!((response.status, response.operation()), (200, None));
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 401);
    let hash = fixture
        .app
        .rows(&format!("select password_hash from auth_users where id = '{user}'"))
        .await;
    let hash = hash[0]["password_hash"].as_str().expect("a hash").to_owned();
    for (table, rows) in fixture.app.snapshot().await {
        for row in rows {
            let mut row = row;
            if table == "auth_users" {
                row["password_hash"] = json!(null);
            }
            let text = row.to_string();
            assert!(!text.contains(secret) && !text.contains(&hash), "{table}: {text}");
        }
    }
    let logged = fixture
        .app
        .rows("select changes from audit_action_logs where command_id = 'auth.user.update'")
        .await;
    assert_eq!(
        logged[0]["changes"]["passwordHash"],
        json!({"from": null, "to": null, "redacted": true})
    );
}

#[actix_web::test]
async fn an_update_without_a_difference_writes_nothing() {
    let fixture = Fixture::new().await;
    let (user, _) = fixture.user("ann@alpha.test", &["employee"]).await;
    let before = fixture.app.snapshot().await;
    let body = json!({"id": user, "email": "ann@alpha.test", "roles": ["employee"], "isActive": true});

    let response = fixture
        .app
        .request(Method::PUT, "/auth/users")
        .bearer(&fixture.a.token)
        .json(&body)
        .send()
        .await;

    assert_eq!((response.status, response.operation()), (200, None));
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn a_field_that_is_missing_is_named() {
    let fixture = Fixture::new().await;
    let mut body = new_user(&fixture, "ann@alpha.test");
    body.as_object_mut().expect("an object").remove("organizationId");

    let (status, response) = fixture.app.post(&fixture.a.token, "/auth/users", body).await;

    assert_eq!((status, &response["error"]), (400, &json!("Invalid input")));
    assert_eq!(response["details"][0]["path"], "organizationId");
}

#[actix_web::test]
async fn the_command_line_checks_names_too() {
    let fixture = Fixture::new().await;
    for (name, created) in [
        ("x".repeat(121), None),
        ("a\u{7}b".to_owned(), None),
        (" ".to_owned(), Some(json!(null))),
    ] {
        let account = NewAccount {
            tenant: Some(fixture.a.id),
            organization: Some(fixture.a.organization),
            email: "ann@alpha.test".to_owned(),
            name: Some(name.clone()),
            password: None,
            roles: Vec::new(),
            super_admin: false,
        };

        let outcome = create_account(&fixture.app.system_context(), account).await;

        assert_eq!(outcome.is_ok(), created.is_some(), "{name:?}: {outcome:?}");
        let rows = fixture
            .app
            .rows("select name from auth_users where email = 'ann@alpha.test'")
            .await;
        assert_eq!(rows.first().map(|row| row["name"].clone()), created, "{name:?}");
    }
}

#[actix_web::test]
async fn an_invalid_id_is_reported_under_the_name_of_its_parameter() {
    let fixture = Fixture::new().await;
    for (method, path, parameter) in [
        (Method::DELETE, "/auth/users", "id"),
        (Method::DELETE, "/auth/roles", "id"),
        (Method::GET, "/auth/roles/acl", "roleId"),
        (Method::GET, "/auth/users/acl", "userId"),
        (Method::GET, "/auth/users/consents", "userId"),
        (Method::DELETE, "/auth/sidebar/preferences", "roleId"),
    ] {
        for query in [String::new(), format!("?{parameter}=7")] {
            let path = format!("{path}{query}");

            let response = fixture
                .app
                .send(&fixture.a.token, method.clone(), &path, json!(null))
                .await;

            let details = &response.json()["details"];
            assert_eq!(
                (response.status, &details[0]["path"]),
                (400, &json!(parameter)),
                "{method} {path}: {details}"
            );
        }
    }
}

/// Returns the rejection of an undo or redo that the present data do not allow, in this field.
fn conflict(field: &str) -> (u16, Value) {
    let error = "The record has changed since this action";
    (400, json!({"error": error, "code": "undo_conflict", "fields": [field]}))
}

#[actix_web::test]
async fn callers_do_not_delete_themselves_by_an_undo_or_redo() {
    let fixture = Fixture::new().await;
    let mut body = new_user(&fixture, "ann@alpha.test");
    body["roles"] = json!(["admin"]);
    let created = fixture
        .app
        .send(&fixture.a.token, Method::POST, "/auth/users", body)
        .await;
    let ann = id_of(&created.json());
    let token = login(&fixture.app, "ann@alpha.test").await;

    let undone = fixture.app.undo(&token, &created).await;

    assert_eq!(undone, conflict("id"));
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 200);
    let path = format!("/auth/users?id={ann}");
    let deleted = fixture
        .app
        .send(&fixture.a.token, Method::DELETE, &path, json!(null))
        .await;
    assert_eq!(fixture.app.undo(&fixture.a.token, &deleted).await.0, 200);
    let token = login(&fixture.app, "ann@alpha.test").await;
    assert_eq!(fixture.app.redo(&token, &deleted).await, conflict("id"));
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 200);
    assert_eq!(
        fixture.app.redo(&fixture.a.token, &deleted).await.0,
        200,
        "another user may"
    );
}

#[actix_web::test]
async fn callers_do_not_deactivate_themselves_by_an_update_an_undo_or_a_redo() {
    let fixture = Fixture::new().await;
    let (ann, token) = fixture.user("ann@alpha.test", &["admin"]).await;
    let activity = |is_active: bool| json!({"id": ann, "isActive": is_active});

    let (own, body) = fixture.app.put(&token, "/auth/users", activity(false)).await;

    assert_eq!((own, &body["details"][0]["path"]), (400, &json!("isActive")), "{body}");
    let set = async |is_active: bool| {
        let body = activity(is_active);
        fixture
            .app
            .send(&fixture.a.token, Method::PUT, "/auth/users", body)
            .await
    };
    let deactivated = set(false).await;
    assert_eq!(fixture.app.undo(&fixture.a.token, &deactivated).await.0, 200);
    let token = login(&fixture.app, "ann@alpha.test").await;
    assert_eq!(fixture.app.redo(&token, &deactivated).await, conflict("isActive"));
    set(false).await;
    let activated = set(true).await;
    let token = login(&fixture.app, "ann@alpha.test").await;
    assert_eq!(fixture.app.undo(&token, &activated).await, conflict("isActive"));
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 200);
    assert_eq!(
        fixture.app.undo(&fixture.a.token, &activated).await.0,
        200,
        "another user may"
    );
    assert_eq!(fixture.app.get(&token, "/auth/profile").await.0, 401);
}

#[actix_web::test]
async fn the_command_line_distinguishes_a_user_of_the_platform_from_one_of_a_tenant() {
    let fixture = crate::reset::fixture().await;
    let context = fixture.app.system_context();
    let address = "admin@alpha.test";
    let of_platform = account(&fixture.app, None, None, address, &[], false).await;
    let rows = "select id, is_active from auth_users where email = 'admin@alpha.test' order by created_at, id";

    let ambiguous = set_active(&context, address, None, false).await;
    set_active(&context, address, Some(PLATFORM_TENANT), false)
        .await
        .expect("the user of the platform");

    assert!(ambiguous.expect_err("two accounts").to_string().contains("--platform"));
    let active = |id: Uuid, is_active: bool| json!({"id": id, "is_active": is_active});
    assert_eq!(
        fixture.app.rows(rows).await,
        [active(fixture.a.admin, true), active(of_platform, false)]
    );
    let found = async |tenant: Uuid| find_account(&context, address, Some(tenant)).await.ok();
    assert_eq!(found(PLATFORM_TENANT).await, Some(of_platform));
    assert_eq!(found(fixture.a.id).await, Some(fixture.a.admin));
    assert_eq!(found(fixture.b.id).await, None);
    let rejected = send_link(&context, of_platform).await.expect_err("an inactive user");
    assert!(rejected.to_string().contains("deactivated"), "{rejected}");
    set_active(&context, address, Some(PLATFORM_TENANT), true)
        .await
        .expect("the user of the platform");
    send_link(&context, of_platform).await.expect("a link by id");
    let issued = fixture.app.rows("select user_id from auth_one_time_tokens").await;
    assert_eq!(issued, [json!({"user_id": of_platform})]);
    assert_eq!(fixture.app.mail().take().len(), 1);
    assert!(send_link(&context, Uuid::from_u128(7)).await.is_err());
}
