use actix_web::http::Method;
use backoffice_auth::{NewAccount, create_account};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::world::{PASSWORD, World, id_of, login};

fn new_user(world: &World, email: &str) -> Value {
    json!({"email": email, "organizationId": world.a.organization, "password": PASSWORD, "roles": ["employee"], "name": "Ann"})
}

#[actix_web::test]
async fn a_user_is_made_and_can_sign_in() {
    let world = World::new().await;

    let (status, body) = world
        .app
        .post(&world.a.token, "/auth/users", new_user(&world, "ann@alpha.test"))
        .await;
    let (_, list) = world
        .app
        .get(&world.a.token, &format!("/auth/users?id={}", id_of(&body)))
        .await;

    assert_eq!((status, body["emailSent"].as_bool()), (201, Some(false)));
    let user = &list["items"][0];
    assert_eq!(user["roles"], json!(["employee"]));
    assert_eq!(user["organizationName"], "Alpha");
    assert_eq!(user["isConfirmed"], true);
    assert_eq!(user["hasPassword"], true);
    login(&world.app, "ann@alpha.test").await;
}

#[actix_web::test]
async fn what_can_not_be_is_refused_and_stores_nothing() {
    let world = World::new().await;
    let before = world.app.rows("select id from auth_users").await.len();
    let with = |member: &str, value: Value| {
        let mut body = new_user(&world, "ann@alpha.test");
        body[member] = value;
        body
    };
    for (body, status, error) in [
        (with("email", json!("ADMIN@alpha.test")), 400, "Email already in use"),
        (with("email", json!("no address")), 400, "Invalid input"),
        (
            with("organizationId", json!(world.b.organization)),
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
        let (answered, text) = world.app.post(&world.a.token, "/auth/users", body).await;
        assert_eq!((answered, text["error"].as_str()), (status, Some(error)));
    }
    assert_eq!(world.app.rows("select id from auth_users").await.len(), before);
}

#[actix_web::test]
async fn search_matches_address_name_organization_and_role() {
    let world = World::new().await;
    world
        .app
        .post(&world.a.token, "/auth/users", new_user(&world, "ann_1@alpha.test"))
        .await;
    world
        .app
        .post(&world.a.token, "/auth/users", new_user(&world, "bob@alpha.test"))
        .await;
    let total = |query: &'static str| {
        let (app, token) = (&world.app, &world.a.token);
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
    let world = World::new().await;
    world
        .app
        .post(&world.a.token, "/auth/users", new_user(&world, "ann@alpha.test"))
        .await;
    let (_, roles) = world.app.get(&world.a.token, "/auth/roles?search=employee").await;
    let id = roles["items"][0]["id"].as_str().expect("an id");
    let unknown = Uuid::from_u128(7);
    for query in [
        format!("roleIds={id}"),
        format!("roleIds={unknown},{id}"),
        format!("roleIds={unknown}&roleIds={id}"),
        format!("roleIds[]={id}"),
        format!("roleId={id}"),
    ] {
        let (status, list) = world.app.get(&world.a.token, &format!("/auth/users?{query}")).await;
        assert_eq!((status, list["total"].as_i64()), (200, Some(1)), "{query}");
    }
    assert_eq!(world.app.get(&world.a.token, "/auth/users?roleIds=x").await.0, 400);
}

#[actix_web::test]
async fn acc_32_a_deleted_user_comes_back_as_it_was_but_signed_out() {
    let world = World::new().await;
    let (user, token) = world.user("ann@alpha.test", &["employee"]).await;
    let path = format!("/auth/users?id={user}");

    let deleted = world
        .app
        .request(Method::DELETE, &path)
        .bearer(&world.a.token)
        .send()
        .await;
    let gone = world.app.get(&token, "/auth/profile").await.0;
    let undo = json!({"undoToken": deleted.operation().expect("undoable")["undoToken"]});
    let (undone, _) = world
        .app
        .post(&world.a.token, "/audit_logs/audit-logs/actions/undo", undo)
        .await;
    let (own, text) = world
        .app
        .delete(
            &world.a.token,
            &format!("/auth/users?id={}", world.a.admin),
            json!(null),
        )
        .await;

    assert_eq!((deleted.status, gone, undone), (200, 401, 200));
    assert_eq!(
        world.app.get(&token, "/auth/profile").await.0,
        401,
        "the old session stays dead"
    );
    let fresh = login(&world.app, "ann@alpha.test").await;
    assert_eq!(
        world.app.get(&fresh, "/auth/profile").await.1["roles"],
        json!(["employee"])
    );
    assert_eq!((own, text["code"].as_str()), (400, Some("cannot_delete_self")));
}

#[actix_web::test]
async fn acc_33_a_set_password_shows_nowhere_and_has_no_undo() {
    let world = World::new().await;
    let (user, token) = world.user("ann@alpha.test", &[]).await;
    let secret = "very unusual passphrase 4711";
    let body = json!({"id": user, "password": secret, "name": "Ann"});

    let answer = world
        .app
        .request(Method::PUT, "/auth/users")
        .bearer(&world.a.token)
        .json(&body)
        .send()
        .await;

    assert_eq!((answer.status, answer.operation()), (200, None));
    assert_eq!(world.app.get(&token, "/auth/profile").await.0, 401);
    let hash = world
        .app
        .rows(&format!("select password_hash from auth_users where id = '{user}'"))
        .await;
    let hash = hash[0]["password_hash"].as_str().expect("a hash").to_owned();
    for (table, rows) in world.app.image().await {
        for row in rows {
            let mut row = row;
            if table == "auth_users" {
                row["password_hash"] = json!(null);
            }
            let text = row.to_string();
            assert!(!text.contains(secret) && !text.contains(&hash), "{table}: {text}");
        }
    }
    let logged = world
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
    let world = World::new().await;
    let (user, _) = world.user("ann@alpha.test", &["employee"]).await;
    let before = world.app.image().await;
    let body = json!({"id": user, "email": "ann@alpha.test", "roles": ["employee"], "isActive": true});

    let answer = world
        .app
        .request(Method::PUT, "/auth/users")
        .bearer(&world.a.token)
        .json(&body)
        .send()
        .await;

    assert_eq!((answer.status, answer.operation()), (200, None));
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn a_member_that_is_missing_is_named() {
    let world = World::new().await;
    let mut body = new_user(&world, "ann@alpha.test");
    body.as_object_mut().expect("an object").remove("organizationId");

    let (status, answer) = world.app.post(&world.a.token, "/auth/users", body).await;

    assert_eq!((status, &answer["error"]), (400, &json!("Invalid input")));
    assert_eq!(answer["details"][0]["path"], "organizationId");
}

#[actix_web::test]
async fn the_command_line_checks_names_too() {
    let world = World::new().await;
    for (name, made) in [
        ("x".repeat(121), None),
        ("a\u{7}b".to_owned(), None),
        (" ".to_owned(), Some(json!(null))),
    ] {
        let account = NewAccount {
            tenant: Some(world.a.id),
            organization: Some(world.a.organization),
            email: "ann@alpha.test".to_owned(),
            name: Some(name.clone()),
            password: None,
            roles: Vec::new(),
            super_admin: false,
        };

        let outcome = create_account(&world.app.system_context(), account).await;

        assert_eq!(outcome.is_ok(), made.is_some(), "{name:?}: {outcome:?}");
        let rows = world
            .app
            .rows("select name from auth_users where email = 'ann@alpha.test'")
            .await;
        assert_eq!(rows.first().map(|row| row["name"].clone()), made, "{name:?}");
    }
}
