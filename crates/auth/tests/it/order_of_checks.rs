//! If a request has several errors, the response reports the first one in the order of the specification.

use actix_web::http::Method;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PASSWORD};

/// Sends the body repeatedly, each time with the first wrong field corrected, and returns the statuses and errors.
async fn reported(
    fixture: &Fixture,
    token: &str,
    method: Method,
    path: &str,
    mut body: Value,
    mend: &[(&str, Value)],
) -> Vec<Value> {
    let mut responses = Vec::new();
    for step in 0..=mend.len() {
        if let Some((field, value)) = step.checked_sub(1).map(|last| &mend[last]) {
            body[field] = value.clone();
        }
        let request = fixture.app.request(method.clone(), path).bearer(token);
        let response = request.header("origin", "https://evil.test").json(&body).send().await;
        responses.push(json!([response.status, response.json()["error"]]));
    }
    responses
}

#[actix_web::test]
async fn a_new_user_is_validated_field_by_field() {
    let fixture = Fixture::new().await;
    fixture
        .role("Clerk", &["auth.users.create", "auth.users.list"], None)
        .await;
    let (_, token) = fixture.user("clerk@alpha.test", &["Clerk"]).await;
    let before = fixture.app.snapshot().await;
    let body = json!({"email": "admin@alpha.test", "organizationId": fixture.b.organization, "password": "short",
        "roles": ["nope"], "sendInviteEmail": true});

    let responses = reported(
        &fixture,
        &token,
        Method::POST,
        "/auth/users",
        body,
        &[
            ("password", json!(PASSWORD)),
            ("organizationId", json!(fixture.a.organization)),
            ("roles", json!(["admin"])),
            ("roles", json!(["Clerk"])),
        ],
    )
    .await;

    assert_eq!(
        responses,
        [
            json!([400, "Password does not meet the requirements"]),
            json!([400, "Organization not found"]),
            json!([400, "Role(s) not found: \"nope\""]),
            json!([403, "Not authorized to grant these rights."]),
            json!([400, "Email already in use"]),
        ]
    );
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn a_new_user_whose_invitation_can_not_leave_is_not_created() {
    let fixture = Fixture::new().await;
    let body = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization, "sendInviteEmail": true});

    let responses = reported(&fixture, &fixture.a.token, Method::POST, "/auth/users", body, &[]).await;

    assert_eq!(responses, [json!([500, "Invitation email is not configured"])]);
    let created = "select id from auth_users where email = 'ann@alpha.test'";
    assert!(fixture.app.rows(created).await.is_empty());
    let tokens = "select id from auth_one_time_tokens";
    assert!(fixture.app.rows(tokens).await.is_empty());
}

#[actix_web::test]
async fn changes_of_a_user_are_validated_field_by_field() {
    let fixture = Fixture::new().await;
    let features = ["auth.users.edit", "auth.users.list"];
    fixture.role("Clerk", &features, None).await;
    let (_, token) = fixture.user("clerk@alpha.test", &["Clerk"]).await;
    let (strong, _) = fixture.user("strong@alpha.test", &["admin"]).await;
    let before = fixture.app.snapshot().await;
    let body = json!({"id": fixture.b.admin, "email": "admin@alpha.test", "organizationId": fixture.b.organization,
        "password": "short", "roles": ["nope"]});

    let responses = reported(
        &fixture,
        &token,
        Method::PUT,
        "/auth/users",
        body,
        &[
            ("password", json!(PASSWORD)),
            ("id", json!(strong)),
            ("organizationId", json!(fixture.a.organization)),
            ("roles", json!(["employee"])),
            ("email", json!("new@alpha.test")),
        ],
    )
    .await;

    assert_eq!(
        responses,
        [
            json!([400, "Password does not meet the requirements"]),
            json!([404, "User not found"]),
            json!([400, "Organization not found"]),
            json!([400, "Role(s) not found: \"nope\""]),
            json!([400, "Email already in use"]),
            json!([403, "Not authorized to change this user's credentials."]),
        ]
    );
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn closing_the_own_account_is_rejected_after_everything_else() {
    let fixture = Fixture::new().await;
    let body = json!({"id": fixture.a.admin, "roles": ["nope"], "isActive": false});

    let responses = reported(
        &fixture,
        &fixture.a.token,
        Method::PUT,
        "/auth/users",
        body,
        &[("roles", json!(["admin"]))],
    )
    .await;

    assert_eq!(
        responses,
        [
            json!([400, "Role(s) not found: \"nope\""]),
            json!([400, "Invalid input"])
        ]
    );
    let body = json!({"id": fixture.a.admin, "isActive": false});
    let (_, response) = fixture.app.put(&fixture.a.token, "/auth/users", body).await;
    assert_eq!(response["details"][0]["path"], "isActive");
}

#[actix_web::test]
async fn the_rights_to_a_role_and_its_name_come_before_a_taken_name_and_its_holders() {
    let fixture = Fixture::new().await;
    let elsewhere = fixture.organization("Elsewhere", None).await;
    let wide = fixture.role("Wide", &["auth.users.list"], Some(&[elsewhere])).await;
    let features = [
        "auth.roles.list",
        "auth.roles.manage",
        "auth.acl.manage",
        "auth.users.list",
    ];
    fixture
        .role("Limited", &features, Some(&[fixture.a.organization]))
        .await;
    let (_, token) = fixture.user("limited@alpha.test", &["Limited"]).await;
    fixture.user("wide@alpha.test", &["Wide"]).await;
    let rejected = json!([403, "Not authorized to grant these rights."]);

    let taken = json!({"id": wide, "name": "admin"});
    let renamed = reported(&fixture, &token, Method::PUT, "/auth/roles", taken, &[]).await;
    let reserved = json!({"id": wide, "name": "superadmin"});
    let named = reported(&fixture, &token, Method::PUT, "/auth/roles", reserved.clone(), &[]).await;
    let held = reported(
        &fixture,
        &token,
        Method::DELETE,
        &format!("/auth/roles?id={wide}"),
        json!({}),
        &[],
    )
    .await;
    let acl = json!({"roleId": wide, "organizations": [fixture.b.organization]});
    let granted = reported(&fixture, &token, Method::PUT, "/auth/roles/acl", acl, &[]).await;
    let by_admin = reported(&fixture, &fixture.a.token, Method::PUT, "/auth/roles", reserved, &[]).await;

    assert_eq!(
        [renamed, named, held, granted],
        [[rejected.clone()], [rejected.clone()], [rejected.clone()], [rejected]]
    );
    assert_eq!(by_admin, [json!([400, "Role name is reserved"])]);
}
