//! The list of users, and one of them.

use actix_web::http::Method;
use backoffice_test_accounts::login;
use backoffice_test_support::{Duration, TestResponse, details};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, USERS, rejection};

/// A dispatcher, a viewer, a user with both roles, a deactivated one, and one without a role and a name, beside the administrator.
async fn team() -> Fixture {
    let fixture = Fixture::new().await;
    for (email, name, role) in [
        ("zoe@example.com", "Zoe", "dispatcher"),
        ("adam@example.com", "Adam", "viewer"),
        ("gone@example.com", "Gone", "viewer"),
    ] {
        assert_eq!(fixture.invite(email, name, role).await.0, 201);
    }
    fixture.user("both@alpha.test", &["viewer", "dispatcher"]).await;
    fixture.user("none@alpha.test", &[]).await;
    let (_, found) = fixture.app.get(&fixture.a.token, &format!("{USERS}?search=gone")).await;
    let id = found["items"][0]["id"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("a UUID");
    assert_eq!(fixture.deactivate(&fixture.a.token, id).await.0, 200);
    fixture
}

async fn emails(fixture: &Fixture, query: &str) -> Vec<String> {
    let (status, body) = fixture.app.get(&fixture.a.token, &format!("{USERS}?{query}")).await;
    assert_eq!(status, 200, "{body}");
    let items = body["items"].as_array().expect("items").iter();
    items
        .map(|item| item["email"].as_str().expect("an address").to_owned())
        .collect()
}

#[actix_web::test]
async fn users_come_by_name_and_those_without_one_last() {
    let fixture = team().await;

    assert_eq!(
        emails(&fixture, "").await,
        [
            "adam@example.com",
            "gone@example.com",
            "zoe@example.com",
            "admin@alpha.test",
            "both@alpha.test",
            "none@alpha.test"
        ]
    );
    let (_, page) = fixture
        .app
        .get(&fixture.a.token, &format!("{USERS}?page=2&pageSize=4"))
        .await;
    assert_eq!(
        [&page["total"], &page["page"], &page["pageSize"], &page["totalPages"]],
        [&json!(6), &json!(2), &json!(4), &json!(2)]
    );
    assert_eq!(
        page["items"][0]["name"], "both@alpha.test",
        "the address of a user without a name"
    );
    let (_, first) = fixture.app.get(&fixture.a.token, USERS).await;
    assert_eq!(first["pageSize"], 20);
}

#[actix_web::test]
async fn users_are_found_by_text_role_state_and_id() {
    let fixture = team().await;
    let id = fixture.a.admin;

    for (query, expected) in [
        ("search=zO", vec!["zoe@example.com"]),
        (
            "search=EXAMPLE.com",
            vec!["adam@example.com", "gone@example.com", "zoe@example.com"],
        ),
        ("search=%25", vec![]),
        ("role=dispatcher", vec!["zoe@example.com", "both@alpha.test"]),
        ("role=viewer", vec!["adam@example.com", "gone@example.com"]),
        ("role=none", vec!["admin@alpha.test", "none@alpha.test"]),
        ("status=disabled", vec!["gone@example.com"]),
        ("status=invited", vec!["adam@example.com", "zoe@example.com"]),
        ("status=active&role=dispatcher", vec!["both@alpha.test"]),
        (&format!("ids={id},{}", fixture.b.admin), vec!["admin@alpha.test"]),
        ("ids=", vec![]),
    ] {
        assert_eq!(emails(&fixture, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn invalid_parameters_have_one_code() {
    let fixture = Fixture::new().await;

    for query in [
        "role=boss",
        "status=asleep",
        "page=0",
        "page=x",
        "pageSize=101",
        "id=nonsense",
        &format!("search={}", "x".repeat(201)),
    ] {
        let rejected = fixture.app.get(&fixture.a.token, &format!("{USERS}?{query}")).await;
        assert_eq!(rejection(&rejected), (400, "invalid_query"), "{query}");
    }
    for (query, expected) in [
        ("role=boss&status=asleep&page=0", vec!["page", "role", "status"]),
        (
            "role=boss&status=asleep&pageSize=x&page=0",
            vec!["page", "pageSize", "role", "status"],
        ),
        (
            "role=boss&status=asleep&tenantId=zz",
            vec!["role", "status", "tenantId"],
        ),
    ] {
        let rejected = fixture.app.get(&fixture.a.token, &format!("{USERS}?{query}")).await;
        assert_eq!(rejection(&rejected), (400, "invalid_query"), "{query}");
        let mut paths: Vec<&str> = details(&rejected.1).into_iter().map(|(path, _)| path).collect();
        paths.sort_unstable();
        assert_eq!(paths, expected, "{query}");
    }
}

#[actix_web::test]
async fn dsp_4_only_callers_with_the_features_read_and_write() {
    let fixture = Fixture::new().await;
    let (_, dispatcher) = fixture.member("d@example.com", "dispatcher").await;
    let (_, viewer) = fixture.member("v@example.com", "viewer").await;
    let body = json!({"email": "new@example.com", "name": "New", "role": "viewer"});

    let invited = fixture.app.post(&dispatcher, USERS, body).await;
    let read = fixture.app.get(&viewer, USERS).await;
    let anonymous = fixture.app.get("", USERS).await;

    assert_eq!(rejection(&invited), (403, "forbidden"));
    assert_eq!(invited.1["requiredFeatures"], json!(["access.users.manage"]));
    assert_eq!(rejection(&read), (403, "forbidden"));
    assert_eq!(read.1["requiredFeatures"], json!(["access.users.view"]));
    assert_eq!(rejection(&anonymous), (401, "unauthorized"));
    assert_eq!(fixture.app.get(&dispatcher, USERS).await.0, 200);
}

#[actix_web::test]
async fn users_of_other_tenants_and_organizations_are_unknown() {
    let fixture = Fixture::new().await;
    let organization = json!({"name": "Branch"});
    let (_, branch) = fixture
        .app
        .post(&fixture.a.token, "/directory/organizations", organization)
        .await;
    let branch = backoffice_test_accounts::id_of(&branch);
    fixture.role("Local", &["access.*"], Some(&[branch])).await;
    let (_, local) = fixture.user("local@alpha.test", &["Local"]).await;
    let get = async |token: &str, id: &str| fixture.app.get(token, &format!("{USERS}/{id}")).await;
    let unknown = get(&fixture.a.token, &Uuid::from_u128(7).to_string()).await;

    assert_eq!(rejection(&unknown), (404, "user_not_found"));
    for (token, id) in [
        (&fixture.a.token, fixture.b.admin.to_string()),
        (&fixture.a.token, "nonsense".to_owned()),
        (&fixture.a.token, format!("{}%00", fixture.a.admin)),
        (&local, fixture.a.admin.to_string()),
    ] {
        assert_eq!(get(token, &id).await, unknown, "{id}");
    }
    let (_, list) = fixture.app.get(&local, USERS).await;
    assert_eq!(list["items"], json!([]));
}

#[actix_web::test]
async fn reads_are_recorded_as_reads_of_users() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    fixture.user_of(id).await;
    fixture.app.get(&fixture.a.token, USERS).await;

    let query = format!(
        "select resource_kind, access_type from audit_access_logs where resource_id = '{id}' order by access_type"
    );

    assert_eq!(
        fixture.app.rows(&query).await,
        [
            json!({"resource_kind": "auth.user", "access_type": "read:item"}),
            json!({"resource_kind": "auth.user", "access_type": "read:list"})
        ]
    );
}

#[actix_web::test]
async fn a_list_costs_the_same_statements_for_one_and_for_many_users() {
    let fixture = Fixture::counting().await;
    let list = async || {
        let (_, statements) = fixture
            .app
            .count_statements(fixture.app.get(&fixture.a.token, USERS))
            .await;
        statements
    };
    list().await;
    fixture.invited("u@example.com", "viewer").await;
    let few = list().await;
    for number in 0..15 {
        fixture.invited(&format!("u{number}@example.com"), "viewer").await;
    }

    assert_eq!(list().await, few);
}

/// Reads a path with `If-None-Match` and this entity tag.
async fn get(fixture: &Fixture, token: &str, path: &str, tag: Option<&str>) -> TestResponse {
    let mut request = fixture.app.request(Method::GET, path).bearer(token);
    if let Some(tag) = tag {
        request = request.header("If-None-Match", tag);
    }
    request.send().await
}

#[actix_web::test]
async fn a_list_is_not_sent_again_until_a_user_changes() {
    let fixture = Fixture::new().await;
    let list = async |tag: Option<&str>| get(&fixture, &fixture.a.token, USERS, tag).await;
    let tag = list(None).await.header("etag").expect("a tag");
    assert_eq!(list(Some(&tag)).await.status, 304);

    fixture.app.mail().reject(true);
    let id = fixture.invited("anna@example.com", "viewer").await;
    let unsent = list(Some(&tag)).await;

    let emails_sent = |body: &Value| body["items"][0]["invite"]["emailSent"].clone();
    assert_eq!((unsent.status, emails_sent(&unsent.json())), (200, json!(false)));
    fixture.app.mail().reject(false);
    assert_eq!(
        fixture.post_to(&fixture.a.token, id, "resend-invite").await.1["emailSent"],
        true
    );
    let sent = list(Some(&tag)).await;
    assert_eq!((sent.status, emails_sent(&sent.json())), (200, json!(true)));
}

#[actix_web::test]
async fn a_response_has_no_tag_while_an_invitation_can_still_expire() {
    let fixture = Fixture::new().await;
    let id = fixture.invited("anna@example.com", "viewer").await;
    let (list, item) = (format!("{USERS}?status=invited"), format!("{USERS}/{id}"));
    for path in [&list, &item] {
        let pending = get(&fixture, &fixture.a.token, path, None).await;
        assert_eq!((pending.status, pending.header("etag")), (200, None), "{path}");
    }
    // Lists without this user keep their tags.
    let active = get(&fixture, &fixture.a.token, &format!("{USERS}?status=active"), None).await;
    assert!(active.header("etag").is_some());

    let expired = |path: &str, body: &Value| match path == item {
        true => body["invite"]["expired"].clone(),
        false => body["items"][0]["invite"]["expired"].clone(),
    };
    for path in [&list, &item] {
        fixture.app.advance(Duration::hours(48));
        let admin = login(&fixture.app, "admin@alpha.test").await;
        let first = get(&fixture, &admin, path, None).await;
        assert_eq!(expired(path, &first.json()), json!(true), "{path}");
        let tag = first.header("etag").expect("a tag");
        assert_eq!(get(&fixture, &admin, path, Some(&tag)).await.status, 304, "{path}");

        assert_eq!(fixture.post_to(&admin, id, "resend-invite").await.0, 200);
        let renewed = get(&fixture, &admin, path, Some(&tag)).await;
        assert_eq!(expired(path, &renewed.json()), json!(false), "{path}");
    }
}

#[actix_web::test]
async fn a_caller_with_organization_limits_finds_disabled_users_of_these_only() {
    let fixture = team().await;
    let (first, second) = (
        fixture.organization("First", Some(fixture.a.organization)).await,
        fixture.organization("Second", Some(fixture.a.organization)).await,
    );
    fixture
        .role("Regional", &["access.*", "auth.users.*"], Some(&[first]))
        .await;
    let (_, token) = fixture.user("regional@alpha.test", &["Regional"]).await;
    let list = async |query: &str| {
        let page = fixture.app.read(&token, &format!("{USERS}?{query}")).await;
        let items = page["items"].as_array().expect("items").iter();
        let emails: Vec<Value> = items.map(|item| item["email"].clone()).collect();
        (page["total"].clone(), emails)
    };

    let none = list("status=disabled").await;
    for (email, organization) in [
        ("zoe@example.com", first),
        ("gone@example.com", first),
        ("adam@example.com", second),
    ] {
        let sql = format!(
            "update auth_users set organization_id = '{organization}', is_active = false where email = '{email}'"
        );
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }

    assert_eq!(none, (json!(0), Vec::new()));
    let found = list("status=disabled").await;
    assert_eq!(
        found,
        (json!(2), vec![json!("gone@example.com"), json!("zoe@example.com")])
    );
    let second_page = list("status=disabled&pageSize=1&page=2").await;
    assert_eq!(second_page, (json!(2), vec![json!("zoe@example.com")]));
    for (query, expected) in [
        ("status=disabled&role=viewer", vec![json!("gone@example.com")]),
        ("status=disabled&role=none", Vec::new()),
        ("status=disabled&search=zoe", vec![json!("zoe@example.com")]),
        ("status=invited", Vec::new()),
    ] {
        assert_eq!(list(query).await.1, expected, "{query}");
    }
}
