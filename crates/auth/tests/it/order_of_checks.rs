//! Of several things that are wrong, the first one in the order of the specification is told.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::world::{PASSWORD, World, id_of};

/// Sends the body again and again, each time with the first wrong member mended, and tells what was said.
async fn told(
    world: &World,
    token: &str,
    method: Method,
    path: &str,
    mut body: Value,
    mend: &[(&str, Value)],
) -> Vec<Value> {
    let mut answers = Vec::new();
    for step in 0..=mend.len() {
        if let Some((member, value)) = step.checked_sub(1).map(|last| &mend[last]) {
            body[member] = value.clone();
        }
        let request = world.app.request(method.clone(), path).bearer(token);
        let answer = request.header("origin", "https://evil.test").json(&body).send().await;
        answers.push(json!([answer.status, answer.json()["error"]]));
    }
    answers
}

#[actix_web::test]
async fn a_new_user_is_judged_member_by_member() {
    let world = World::new().await;
    world
        .role("Clerk", &["auth.users.create", "auth.users.list"], None)
        .await;
    let (_, token) = world.user("clerk@alpha.test", &["Clerk"]).await;
    let before = world.app.image().await;
    let body = json!({"email": "admin@alpha.test", "organizationId": world.b.organization, "password": "short",
        "roles": ["nope"], "sendInviteEmail": true});

    let answers = told(
        &world,
        &token,
        Method::POST,
        "/auth/users",
        body,
        &[
            ("password", json!(PASSWORD)),
            ("organizationId", json!(world.a.organization)),
            ("roles", json!(["admin"])),
            ("roles", json!(["Clerk"])),
        ],
    )
    .await;

    assert_eq!(
        answers,
        [
            json!([400, "Password does not meet the requirements"]),
            json!([400, "Organization not found"]),
            json!([400, "Role(s) not found: \"nope\""]),
            json!([403, "Not authorized to grant these rights."]),
            json!([400, "Email already in use"]),
        ]
    );
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn a_new_user_whose_invitation_can_not_leave_is_not_made() {
    let world = World::new().await;
    let body = json!({"email": "ann@alpha.test", "organizationId": world.a.organization, "sendInviteEmail": true});

    let answers = told(&world, &world.a.token, Method::POST, "/auth/users", body, &[]).await;

    assert_eq!(answers, [json!([500, "Invitation email is not configured"])]);
    let made = "select id from auth_users where email = 'ann@alpha.test'";
    assert!(world.app.rows(made).await.is_empty());
    let tokens = "select id from auth_one_time_tokens";
    assert!(world.app.rows(tokens).await.is_empty());
}

#[actix_web::test]
async fn changes_of_a_user_are_judged_member_by_member() {
    let world = World::new().await;
    let features = ["auth.users.edit", "auth.users.list"];
    world.role("Clerk", &features, None).await;
    let (_, token) = world.user("clerk@alpha.test", &["Clerk"]).await;
    let (strong, _) = world.user("strong@alpha.test", &["admin"]).await;
    let before = world.app.image().await;
    let body = json!({"id": world.b.admin, "email": "admin@alpha.test", "organizationId": world.b.organization,
        "password": "short", "roles": ["nope"]});

    let answers = told(
        &world,
        &token,
        Method::PUT,
        "/auth/users",
        body,
        &[
            ("password", json!(PASSWORD)),
            ("id", json!(strong)),
            ("organizationId", json!(world.a.organization)),
            ("roles", json!(["employee"])),
            ("email", json!("new@alpha.test")),
        ],
    )
    .await;

    assert_eq!(
        answers,
        [
            json!([400, "Password does not meet the requirements"]),
            json!([404, "User not found"]),
            json!([400, "Organization not found"]),
            json!([400, "Role(s) not found: \"nope\""]),
            json!([400, "Email already in use"]),
            json!([403, "Not authorized to change this user's credentials."]),
        ]
    );
    assert_eq!(world.app.image().await, before);
}

#[actix_web::test]
async fn closing_the_own_account_is_refused_after_everything_else() {
    let world = World::new().await;
    let body = json!({"id": world.a.admin, "roles": ["nope"], "isActive": false});

    let answers = told(
        &world,
        &world.a.token,
        Method::PUT,
        "/auth/users",
        body,
        &[("roles", json!(["admin"]))],
    )
    .await;

    assert_eq!(
        answers,
        [
            json!([400, "Role(s) not found: \"nope\""]),
            json!([400, "Invalid input"])
        ]
    );
    let body = json!({"id": world.a.admin, "isActive": false});
    let (_, answer) = world.app.put(&world.a.token, "/auth/users", body).await;
    assert_eq!(answer["details"][0]["path"], "isActive");
}

#[actix_web::test]
async fn the_rights_to_a_role_and_its_name_come_before_a_taken_name_and_its_holders() {
    let world = World::new().await;
    let other = json!({"name": "Elsewhere"});
    let (_, elsewhere) = world.app.post(&world.a.token, "/directory/organizations", other).await;
    let elsewhere = id_of(&elsewhere);
    let wide = world.role("Wide", &["auth.users.list"], Some(&[elsewhere])).await;
    let features = [
        "auth.roles.list",
        "auth.roles.manage",
        "auth.acl.manage",
        "auth.users.list",
    ];
    world.role("Limited", &features, Some(&[world.a.organization])).await;
    let (_, token) = world.user("limited@alpha.test", &["Limited"]).await;
    world.user("wide@alpha.test", &["Wide"]).await;
    let refused = json!([403, "Not authorized to grant these rights."]);

    let taken = json!({"id": wide, "name": "admin"});
    let renamed = told(&world, &token, Method::PUT, "/auth/roles", taken, &[]).await;
    let reserved = json!({"id": wide, "name": "superadmin"});
    let named = told(&world, &token, Method::PUT, "/auth/roles", reserved.clone(), &[]).await;
    let held = told(
        &world,
        &token,
        Method::DELETE,
        &format!("/auth/roles?id={wide}"),
        json!({}),
        &[],
    )
    .await;
    let acl = json!({"roleId": wide, "organizations": [world.b.organization]});
    let granted = told(&world, &token, Method::PUT, "/auth/roles/acl", acl, &[]).await;
    let by_admin = told(&world, &world.a.token, Method::PUT, "/auth/roles", reserved, &[]).await;

    assert_eq!(
        [renamed, named, held, granted],
        [[refused.clone()], [refused.clone()], [refused.clone()], [refused]]
    );
    assert_eq!(by_admin, [json!([400, "Role name is reserved"])]);
}
