//! A rejection names every invalid field of the request.

use actix_web::http::Method;
use backoffice_test_support::details;
use serde_json::{Value, json};

use crate::fixture::{Fixture, PASSWORD};

/// Returns the paths and codes of the details of a rejection, sorted.
fn sorted(body: &Value) -> Vec<(&str, &str)> {
    let mut found = details(body);
    found.sort_unstable();
    found
}

#[actix_web::test]
async fn every_invalid_parameter_of_a_list_is_named() {
    let fixture = Fixture::new().await;
    let long = "x".repeat(201);
    let (type_of_size, range) = (("pageSize", "invalid_type"), ("page", "out_of_range"));
    let (search, tenant) = (("search", "too_long"), ("tenantId", "invalid_value"));

    for (path, expected) in [
        ("/auth/users?page=0&pageSize=x".to_owned(), vec![range, type_of_size]),
        (
            "/auth/users?page=0&organizationId=zz".to_owned(),
            vec![("organizationId", "invalid_value"), range],
        ),
        (
            format!("/auth/users?page=0&pageSize=x&organizationId=zz&roleIds=q&search={long}&name={long}&id=q&ids=q"),
            vec![
                ("id", "invalid_value"),
                ("ids", "invalid_value"),
                ("name", "too_long"),
                ("organizationId", "invalid_value"),
                range,
                type_of_size,
                ("roleIds", "invalid_value"),
                search,
            ],
        ),
        ("/auth/users?page=0&tenantId=zz".to_owned(), vec![range, tenant]),
        (
            format!("/auth/roles?page=0&search={long}&tenantId=zz"),
            vec![range, search, tenant],
        ),
        (
            "/auth/users/consents?page=0&pageSize=x&userId=zz".to_owned(),
            vec![range, type_of_size, ("userId", "invalid_value")],
        ),
        (
            "/auth/users/consents?page=0&userId=zz".to_owned(),
            vec![range, ("userId", "invalid_value")],
        ),
        (
            "/auth/profile/consents?page=0&ids=q&tenantId=zz".to_owned(),
            vec![("ids", "invalid_value"), range, tenant],
        ),
        (
            "/auth/users?page=0&search=a%00b".to_owned(),
            vec![range, ("search", "invalid_value")],
        ),
    ] {
        let (status, body) = fixture.app.get(&fixture.a.token, &path).await;

        assert_eq!((status, sorted(&body)), (400, expected), "{path}");
    }
}

#[actix_web::test]
async fn the_rights_of_the_caller_come_before_invalid_parameters() {
    let fixture = Fixture::new().await;
    let (_, without_rights) = fixture.user("ann@alpha.test", &[]).await;

    let foreign = format!("/auth/users?page=0&pageSize=x&tenantId={}", fixture.b.id);
    let (foreign, text) = fixture.app.get(&fixture.a.token, &foreign).await;
    let invalid = "/auth/users?page=0&pageSize=x&tenantId=zz";
    let (forbidden, missing) = fixture.app.get(&without_rights, invalid).await;
    let (unauthorized, _) = fixture.app.get("", invalid).await;

    assert_eq!(
        (foreign, &text["error"]),
        (403, &json!("Not authorized to target this tenant."))
    );
    assert_eq!(
        (forbidden, &missing["requiredFeatures"]),
        (403, &json!(["auth.users.list"]))
    );
    assert_eq!(unauthorized, 401);
}

#[actix_web::test]
async fn every_invalid_field_of_a_body_is_named() {
    let fixture = Fixture::new().await;
    let (admin, organization, long) = (fixture.a.admin, fixture.a.organization, "x".repeat(121));
    let before = fixture.app.snapshot().await;
    let short = ("password", "too_short");

    for (method, path, body, expected) in [
        (
            Method::POST,
            "/auth/roles",
            json!({"name": "", "tenantId": 5}),
            vec![("name", "required"), ("tenantId", "invalid_type")],
        ),
        (
            Method::POST,
            "/auth/roles?tenantId=zz",
            json!({"name": ""}),
            vec![("name", "required"), ("tenantId", "invalid_value")],
        ),
        (
            Method::PUT,
            "/auth/roles?tenantId=zz",
            json!({"id": admin, "name": "x".repeat(101)}),
            vec![("name", "too_long"), ("tenantId", "invalid_value")],
        ),
        (
            Method::POST,
            "/auth/users",
            json!({"email": "bad", "organizationId": organization, "password": "x"}),
            vec![("email", "invalid_value"), short],
        ),
        (
            Method::POST,
            "/auth/users",
            json!({"email": "bad", "organizationId": "zz", "password": "x"}),
            vec![("email", "invalid_value"), ("organizationId", "invalid_value"), short],
        ),
        (
            Method::POST,
            "/auth/users?tenantId=zz",
            json!({"email": "a@alpha.test", "organizationId": organization, "password": "x"}),
            vec![short, ("tenantId", "invalid_value")],
        ),
        (
            Method::PUT,
            "/auth/users",
            json!({"id": admin, "name": long, "password": "x"}),
            vec![("name", "too_long"), short],
        ),
        (
            Method::PUT,
            "/auth/users",
            json!({"id": "zz", "email": 7, "password": "x"}),
            vec![("email", "invalid_type"), ("id", "invalid_value"), short],
        ),
        (
            Method::PUT,
            "/auth/profile",
            json!({"name": long, "password": "x"}),
            vec![("name", "too_long"), short],
        ),
        (
            Method::POST,
            "/auth/users",
            json!({"email": "a\0@alpha.test", "name": "a\0b", "organizationId": "zz", "password": "x"}),
            vec![
                ("email", "invalid_value"),
                ("name", "invalid_value"),
                ("organizationId", "invalid_value"),
                short,
            ],
        ),
    ] {
        let token = &fixture.a.token;
        let response = fixture.app.send(token, method.clone(), path, body.clone()).await;

        let reported = response.json();
        assert_eq!(
            (response.status, sorted(&reported)),
            (400, expected),
            "{method} {path} {body}"
        );
        assert_eq!(
            (&reported["error"], reported.get("code")),
            (&json!("Invalid input"), None),
            "{body}"
        );
    }
    assert_eq!(fixture.app.snapshot().await, before);
}

#[actix_web::test]
async fn a_password_alone_is_rejected_by_the_policy_whatever_its_characters() {
    let fixture = Fixture::new().await;
    let (admin, organization) = (fixture.a.admin, fixture.a.organization);
    let with_nul = "long enough \0 to be a password";

    for (password, code) in [("x", "too_short"), (with_nul, "invalid_value")] {
        for (method, path, body) in [
            (
                Method::POST,
                "/auth/users",
                json!({"email": "a@alpha.test", "organizationId": organization, "password": password}),
            ),
            (Method::PUT, "/auth/users", json!({"id": admin, "password": password})),
            (
                Method::PUT,
                "/auth/profile",
                json!({"currentPassword": PASSWORD, "password": password}),
            ),
        ] {
            let response = fixture.app.send(&fixture.a.token, method, path, body).await;

            let reported = response.json();
            assert_eq!(
                (response.status, &reported["error"], &reported["code"]),
                (
                    400,
                    &json!("Password does not meet the requirements"),
                    &json!("password_policy")
                ),
                "{path}"
            );
            assert_eq!(details(&reported), [("password", code)], "{path}");
        }
    }
}

#[actix_web::test]
async fn every_invalid_field_of_a_sign_in_is_named() {
    let fixture = Fixture::new().await;
    let roles: Vec<String> = (0..21).map(|number| format!("role {number}")).collect();

    for (body, expected) in [
        (
            json!({"email": "", "password": ""}),
            vec![("email", "required"), ("password", "required")],
        ),
        (
            json!({"email": " ", "password": 7, "remember": "maybe"}),
            vec![
                ("email", "required"),
                ("password", "invalid_type"),
                ("remember", "invalid_type"),
            ],
        ),
        (
            json!({"email": "a@alpha.test", "password": "x".repeat(1025), "requireRole": roles.join(",")}),
            vec![("password", "too_long"), ("requireRole", "too_long")],
        ),
    ] {
        let (status, reported) = fixture.app.post("", "/auth/login", body.clone()).await;

        assert_eq!((status, sorted(&reported)), (400, expected), "{body}");
        assert_eq!(
            (&reported["ok"], &reported["error"]),
            (&json!(false), &json!("Invalid request")),
            "{body}"
        );
    }
}

#[actix_web::test]
async fn a_malformed_time_is_named_by_the_header_that_contains_it() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let (expected, tag) = ("X-Expected-Updated-At", "If-Match");

    for (headers, name) in [
        (vec![(expected, "yesterday")], expected),
        (vec![(tag, "\"yesterday\"")], tag),
        (vec![(tag, "*"), (expected, "yesterday")], expected),
        (vec![(tag, "x"), (expected, "yesterday")], tag),
    ] {
        let mut request = fixture.app.request(Method::PUT, "/auth/profile").bearer(token);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let response = request.json(&json!({"name": "x".repeat(121)})).send().await;

        let reported = response.json();
        assert_eq!(
            (response.status, details(&reported)),
            (400, vec![(name, "invalid_value"), ("name", "too_long")]),
            "{headers:?}"
        );
    }
}
