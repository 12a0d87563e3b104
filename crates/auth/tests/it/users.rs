//! Accounts: created, changed and deleted by an administrator.

use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, PASSWORD, id_of, login};

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
