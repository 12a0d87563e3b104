//! Writes that work the same for companies and for people.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::fixture::{Account, COMPANIES, Fixture, PEOPLE, TenantFixture, detail, id_of};

/// Returns the minimal bodies of a company and a person.
pub(crate) fn kinds() -> [(&'static str, &'static str, Value); 2] {
    [
        (COMPANIES, "companies", json!({"displayName": "Acme"})),
        (PEOPLE, "people", json!({"firstName": "Ada", "lastName": "Doe"})),
    ]
}

pub(crate) fn with(body: &Value, field: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[field] = value.into();
    body
}

/// Sends a write that is rejected and returns status and body.
pub(crate) async fn rejected(
    fixture: &Fixture,
    who: &Account,
    method: Method,
    path: &str,
    body: Value,
) -> (u16, Value) {
    let response = fixture.app.send(&who.token, method, path, body).await;
    assert_eq!(response.operation(), None, "{}", response.text());
    (response.status, response.json())
}

#[actix_web::test]
async fn each_change_is_announced_logged_undone_and_redone() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;

    for (path, noun, body) in kinds() {
        let kind = if noun == "people" {
            "customers.person"
        } else {
            "customers.company"
        };
        let created = fixture.write(who, Method::POST, path, body).await;
        fixture.app.advance(Duration::SECOND);
        let change = json!({"id": created.resource, "isActive": false, "primaryPhone": " 1 "});
        let changed = fixture.write(who, Method::PUT, path, change).await;
        let entry = fixture.last_entry(who).await;
        assert_eq!(entry["commandId"], format!("{kind}.update"));
        assert_eq!(
            entry["changes"],
            json!({"isActive": {"from": true, "to": false}, "primaryPhone": {"from": null, "to": "1"}})
        );
        assert_eq!(fixture.app.undo(&who.token, &changed).await.0, 200);
        assert_eq!(fixture.item(who, path, created.resource).await["isActive"], true);
        assert_eq!(fixture.app.redo(&who.token, &changed).await.0, 200);
        assert_eq!(fixture.item(who, path, created.resource).await["primaryPhone"], "1");
        let before = fixture.item(who, path, created.resource).await;
        let removed = fixture.remove(who, path, created.resource).await;
        assert_eq!(fixture.get(who, &format!("{path}/{}", created.resource)).await.0, 404);
        assert_eq!(fixture.app.undo(&who.token, &removed).await.0, 200);

        let mut after = fixture.item(who, path, created.resource).await;
        after["updatedAt"] = before["updatedAt"].clone();
        assert_eq!(after, before, "with its creation and all its members");
        let events = fixture.events(created.resource).await;
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        let word = |verb: &str| format!("{kind}.{verb}");
        assert_eq!(
            names,
            [
                word("created"),
                word("updated"),
                word("updated"),
                word("updated"),
                word("deleted"),
                word("created")
            ]
        );
        assert_eq!(events[0].1["organizationId"], fixture.a.root.to_string());
    }
}

#[actix_web::test]
async fn a_change_without_a_difference_is_none() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;

    for (path, _, body) in kinds() {
        let id = fixture.create(who, path, body.clone()).await;
        let before = fixture.item(who, path, id).await;
        fixture.app.advance(Duration::SECOND);
        let same = with(&body, "id", id.to_string());

        let response = fixture.app.send(&who.token, Method::PUT, path, same).await;

        assert_eq!(response.operation(), None);
        assert_eq!(
            (response.status, response.json()),
            (200, json!({"ok": true, "updatedAt": before["updatedAt"]}))
        );
        assert_eq!(fixture.item(who, path, id).await, before);
        assert_eq!(fixture.events(id).await.len(), 1);
    }
}

#[actix_web::test]
async fn the_slower_caller_gets_a_conflict() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;

    for (path, _, body) in kinds() {
        let id = fixture.create(who, path, body).await;
        let read = fixture.item(who, path, id).await["updatedAt"].clone();
        fixture.app.advance(Duration::SECOND);
        let faster = fixture
            .app
            .send(
                &who.token,
                Method::PUT,
                path,
                json!({"id": id, "primaryEmail": "a@b.test"}),
            )
            .await;
        let present = faster.json()["updatedAt"].clone();
        assert_eq!(present, fixture.item(who, path, id).await["updatedAt"]);

        for (method, target, body) in [
            (
                Method::PUT,
                path.to_owned(),
                Some(json!({"id": id, "primaryEmail": null})),
            ),
            (Method::DELETE, format!("{path}?id={id}"), None),
        ] {
            let request = fixture.app.request(method, &target).bearer(&who.token);
            let request = request.header("If-Match", &format!("{read}"));
            let response = match body {
                Some(body) => request.json(&body).send().await,
                None => request.send().await,
            };

            let reported = response.json();
            assert_eq!(
                (response.status, &reported["code"]),
                (409, &json!("optimistic_lock_conflict"))
            );
            assert_eq!(reported["currentUpdatedAt"], present);
        }
    }
}

#[actix_web::test]
async fn the_same_idempotency_key_creates_one() {
    let fixture = Fixture::new().await;

    for (path, _, body) in kinds() {
        let send = async || {
            let request = fixture.app.request(Method::POST, path).bearer(&fixture.a.admin.token);
            request.header("Idempotency-Key", path).json(&body).send().await
        };

        let (first, second) = (send().await, send().await);

        assert_eq!((first.status, second.status), (201, 201));
        assert_eq!(first.json(), second.json());
        assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
        assert_eq!(fixture.list(&fixture.a.admin, path).await, [id_of(&first.json())]);
    }
}

#[actix_web::test]
async fn a_new_record_belongs_to_the_requested_organization() {
    let fixture = Fixture::new().await;
    let TenantFixture {
        root,
        child,
        other,
        admin,
        local,
        ..
    } = &fixture.a;

    for (path, _, body) in kinds() {
        let own = fixture.create(local, path, body.clone()).await;
        assert_eq!(
            fixture.item(local, path, own).await["organizationId"],
            child.to_string()
        );
        let named = fixture
            .create(admin, path, with(&body, "organizationId", child.to_string()))
            .await;
        assert_eq!(
            fixture.item(local, path, named).await["organizationId"],
            child.to_string()
        );
        let selected = fixture.app.request(Method::POST, path).bearer(&admin.token);
        let selected = selected
            .header("X-Organization-Id", &other.to_string())
            .json(&body)
            .send()
            .await;
        let selected = fixture.item(admin, path, id_of(&selected.json())).await;
        assert_eq!(selected["organizationId"], other.to_string());

        let mut responses = Vec::new();
        for outside in [*root, *other, fixture.b.root, uuid::Uuid::from_u128(1)] {
            let body = with(&body, "organizationId", outside.to_string());
            responses.push(rejected(&fixture, local, Method::POST, path, body).await);
        }
        assert_eq!(responses[0], (403, json!({"error": "Organization out of scope"})));
        assert!(
            responses.iter().all(|response| *response == responses[0]),
            "{responses:?}"
        );
        for (moved, code) in [(json!(other), "invalid_value"), (json!(null), "required")] {
            let body = json!({"id": own, "organizationId": moved});
            let (status, reported) = rejected(&fixture, admin, Method::PUT, path, body).await;
            assert_eq!((status, detail(&reported)), (400, ("organizationId", code)));
        }
        let same = json!({"id": own, "organizationId": child, "primaryPhone": "1"});
        fixture.write(local, Method::PUT, path, same).await;
    }
}

#[actix_web::test]
async fn invalid_fields_are_rejected() {
    let fixture = Fixture::new().await;
    let who = &fixture.a.admin;
    let long = |length: usize| json!("x".repeat(length));
    let both = [
        ("primaryEmail", long(321), "too_long"),
        ("primaryPhone", long(51), "too_long"),
        ("isActive", json!(null), "required"),
        ("isActive", json!("yes"), "invalid_type"),
        ("ownerUserId", json!("x"), "invalid_value"),
        ("organizationId", json!("x"), "invalid_value"),
    ];
    let companies = [
        ("displayName", json!(" "), "required"),
        ("displayName", json!(null), "required"),
        ("displayName", long(201), "too_long"),
        ("legalName", long(201), "too_long"),
        ("description", long(4001), "too_long"),
        ("industry", long(151), "too_long"),
        ("websiteUrl", json!("ftp://acme.test"), "invalid_value"),
        ("websiteUrl", json!("javascript:alert(1)"), "invalid_value"),
        (
            "websiteUrl",
            json!(format!("https://acme.test/{}", "x".repeat(300))),
            "too_long",
        ),
    ];
    let people = [
        ("firstName", json!(null), "required"),
        ("lastName", json!(" "), "required"),
        ("firstName", long(121), "too_long"),
        ("lastName", long(121), "too_long"),
        ("displayName", long(251), "too_long"),
        ("jobTitle", long(151), "too_long"),
        ("companyId", json!(7), "invalid_type"),
    ];

    for (path, noun, body) in kinds() {
        let id = fixture.create(who, path, body.clone()).await;
        let own = if noun == "people" { &people[..] } else { &companies[..] };
        for (field, value, code) in both.iter().chain(own) {
            let new = with(&body, field, value.clone());
            let patch = json!({"id": id, *field: value});
            for (method, body) in [(Method::POST, new), (Method::PUT, patch)] {
                let (status, reported) = rejected(&fixture, who, method, path, body).await;

                assert_eq!((status, detail(&reported)), (400, (*field, *code)), "{reported}");
            }
        }
        let (status, reported) = rejected(&fixture, who, Method::POST, path, json!({})).await;
        assert_eq!((status, &reported["details"][0]["code"]), (400, &json!("required")));
        assert_eq!(
            rejected(&fixture, who, Method::PUT, path, body).await.0,
            400,
            "without an id"
        );
        assert_eq!(fixture.list(who, path).await, [id]);
    }
}

#[actix_web::test]
async fn crm_12_an_owner_is_an_active_user_who_reaches_the_record() {
    let fixture = Fixture::new().await;
    let TenantFixture {
        child,
        other,
        admin,
        local,
        stranger,
        plain,
        ..
    } = &fixture.a;
    let retired = fixture
        .account(&fixture.a, *child, "retired@alpha.test", &["*"], None)
        .await;
    let gone = fixture
        .account(&fixture.a, *child, "gone@alpha.test", &["*"], None)
        .await;
    for (column, user) in [("is_active = false", &retired), ("deleted_at = now()", &gone)] {
        let sql = format!("update auth_users set {column} where id = '{}'", user.id);
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }

    for (path, _, body) in kinds() {
        let body = with(&body, "organizationId", child.to_string());
        let id = fixture
            .create(admin, path, with(&body, "ownerUserId", local.id.to_string()))
            .await;
        let before = fixture.item(admin, path, id).await;
        assert_eq!(before["ownerName"], local.email);
        let mut unknown = Vec::new();
        // `local` sees only the users of its own organization.
        for (who, owner) in [
            (admin, fixture.b.admin.id),
            (admin, retired.id),
            (admin, gone.id),
            (admin, uuid::Uuid::from_u128(1)),
            (local, stranger.id),
            (local, admin.id),
        ] {
            let patch = json!({"id": id, "ownerUserId": owner});
            unknown.push(rejected(&fixture, who, Method::PUT, path, patch).await);
            let new = with(&body, "ownerUserId", owner.to_string());
            unknown.push(rejected(&fixture, who, Method::POST, path, new).await);
        }
        assert_eq!(
            (unknown[0].0, detail(&unknown[0].1)),
            (400, ("ownerUserId", "unknown_reference"))
        );
        assert!(unknown.iter().all(|response| *response == unknown[0]), "{unknown:?}");
        for owner in [stranger, plain] {
            let patch = json!({"id": id, "ownerUserId": owner.id});
            let (status, reported) = rejected(&fixture, admin, Method::PUT, path, patch).await;
            assert_eq!(
                (status, detail(&reported)),
                (400, ("ownerUserId", "owner_out_of_scope"))
            );
        }

        assert_eq!(fixture.item(admin, path, id).await, before);
        let elsewhere = with(&body, "organizationId", other.to_string());
        fixture
            .create(admin, path, with(&elsewhere, "ownerUserId", stranger.id.to_string()))
            .await;
        let cleared = json!({"id": id, "ownerUserId": null});
        fixture.write(local, Method::PUT, path, cleared).await;
        assert_eq!(fixture.item(admin, path, id).await["ownerName"], Value::Null);
    }
}

#[actix_web::test]
async fn an_owner_who_has_left_may_stay_in_the_row() {
    let fixture = Fixture::new().await;
    let owner = fixture
        .account(&fixture.a, fixture.a.root, "owner@alpha.test", &["*"], None)
        .await;

    for (path, _, body) in kinds() {
        let id = fixture
            .create(&fixture.a.admin, path, with(&body, "ownerUserId", owner.id.to_string()))
            .await;
        let sql = format!("update auth_users set is_active = false where id = '{}'", owner.id);
        assert_eq!(fixture.app.sql(&sql).await, 1);
        let whole = json!({"id": id, "ownerUserId": owner.id, "primaryPhone": "1"});
        fixture.write(&fixture.a.admin, Method::PUT, path, whole).await;
        let sql = format!("update auth_users set is_active = true where id = '{}'", owner.id);
        assert_eq!(fixture.app.sql(&sql).await, 1);
    }
}
