//! What holds for companies as for people, when they are written.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::world::{Account, COMPANIES, House, PEOPLE, World, detail, id_of};

/// The least that a company and a person need.
pub(crate) fn kinds() -> [(&'static str, &'static str, Value); 2] {
    [
        (COMPANIES, "companies", json!({"displayName": "Acme"})),
        (PEOPLE, "people", json!({"firstName": "Ada", "lastName": "Doe"})),
    ]
}

pub(crate) fn with(body: &Value, member: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[member] = value.into();
    body
}

/// What a refused write answers.
pub(crate) async fn refused(world: &World, who: &Account, method: Method, path: &str, body: Value) -> (u16, Value) {
    let response = world.send(who, method, path, Some(body)).await;
    assert_eq!(response.operation(), None, "{}", response.text());
    (response.status, response.json())
}

#[actix_web::test]
async fn each_change_is_announced_logged_undone_and_redone() {
    let world = World::new().await;
    let who = &world.a.admin;

    for (path, noun, body) in kinds() {
        let kind = if noun == "people" {
            "customers.person"
        } else {
            "customers.company"
        };
        let made = world.write(who, Method::POST, path, body).await;
        world.app.advance(Duration::SECOND);
        let change = json!({"id": made.id, "isActive": false, "primaryPhone": " 1 "});
        let changed = world.write(who, Method::PUT, path, change).await;
        let entry = world.last_entry(who).await;
        assert_eq!(entry["commandId"], format!("{kind}.update"));
        assert_eq!(
            entry["changes"],
            json!({"isActive": {"from": true, "to": false}, "primaryPhone": {"from": null, "to": "1"}})
        );
        assert_eq!(world.undo(who, &changed).await.0, 200);
        assert_eq!(world.item(who, path, made.id).await["isActive"], true);
        assert_eq!(world.redo(who, &changed).await.0, 200);
        assert_eq!(world.item(who, path, made.id).await["primaryPhone"], "1");
        let before = world.item(who, path, made.id).await;
        let removed = world.remove(who, path, made.id).await;
        assert_eq!(world.get(who, &format!("{path}/{}", made.id)).await.0, 404);
        assert_eq!(world.undo(who, &removed).await.0, 200);

        let mut after = world.item(who, path, made.id).await;
        after["updatedAt"] = before["updatedAt"].clone();
        assert_eq!(after, before, "with its creation and all its members");
        let events = world.events(made.id).await;
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
        assert_eq!(events[0].1["organizationId"], world.a.root.to_string());
    }
}

#[actix_web::test]
async fn a_change_without_a_difference_is_none() {
    let world = World::new().await;
    let who = &world.a.admin;

    for (path, _, body) in kinds() {
        let id = world.make(who, path, body.clone()).await;
        let before = world.item(who, path, id).await;
        world.app.advance(Duration::SECOND);
        let same = with(&body, "id", id.to_string());

        let response = world.send(who, Method::PUT, path, Some(same)).await;

        assert_eq!(response.operation(), None);
        assert_eq!(
            (response.status, response.json()),
            (200, json!({"ok": true, "updatedAt": before["updatedAt"]}))
        );
        assert_eq!(world.item(who, path, id).await, before);
        assert_eq!(world.events(id).await.len(), 1);
    }
}

#[actix_web::test]
async fn whoever_was_slower_is_told() {
    let world = World::new().await;
    let who = &world.a.admin;

    for (path, _, body) in kinds() {
        let id = world.make(who, path, body).await;
        let read = world.item(who, path, id).await["updatedAt"].clone();
        world.app.advance(Duration::SECOND);
        let faster = world
            .send(
                who,
                Method::PUT,
                path,
                Some(json!({"id": id, "primaryEmail": "a@b.test"})),
            )
            .await;
        let present = faster.json()["updatedAt"].clone();
        assert_eq!(present, world.item(who, path, id).await["updatedAt"]);

        for (method, target, body) in [
            (
                Method::PUT,
                path.to_owned(),
                Some(json!({"id": id, "primaryEmail": null})),
            ),
            (Method::DELETE, format!("{path}?id={id}"), None),
        ] {
            let request = world.app.request(method, &target).bearer(&who.token);
            let request = request.header("If-Match", &format!("{read}"));
            let response = match body {
                Some(body) => request.json(&body).send().await,
                None => request.send().await,
            };

            let told = response.json();
            assert_eq!(
                (response.status, &told["code"]),
                (409, &json!("optimistic_lock_conflict"))
            );
            assert_eq!(told["currentUpdatedAt"], present);
        }
    }
}

#[actix_web::test]
async fn the_same_idempotency_key_makes_one() {
    let world = World::new().await;

    for (path, _, body) in kinds() {
        let send = async || {
            let request = world.app.request(Method::POST, path).bearer(&world.a.admin.token);
            request.header("Idempotency-Key", path).json(&body).send().await
        };

        let (first, second) = (send().await, send().await);

        assert_eq!((first.status, second.status), (201, 201));
        assert_eq!(first.json(), second.json());
        assert_eq!(second.header("idempotency-replayed").as_deref(), Some("true"));
        assert_eq!(world.list(&world.a.admin, path).await, [id_of(&first.json())]);
    }
}

#[actix_web::test]
async fn a_new_one_belongs_where_it_is_told() {
    let world = World::new().await;
    let House {
        root,
        child,
        other,
        admin,
        local,
        ..
    } = &world.a;

    for (path, _, body) in kinds() {
        let own = world.make(local, path, body.clone()).await;
        assert_eq!(world.item(local, path, own).await["organizationId"], child.to_string());
        let named = world
            .make(admin, path, with(&body, "organizationId", child.to_string()))
            .await;
        assert_eq!(
            world.item(local, path, named).await["organizationId"],
            child.to_string()
        );
        let selected = world.app.request(Method::POST, path).bearer(&admin.token);
        let selected = selected
            .header("X-Organization-Id", &other.to_string())
            .json(&body)
            .send()
            .await;
        let selected = world.item(admin, path, id_of(&selected.json())).await;
        assert_eq!(selected["organizationId"], other.to_string());

        let mut answers = Vec::new();
        for outside in [*root, *other, world.b.root, uuid::Uuid::from_u128(1)] {
            let body = with(&body, "organizationId", outside.to_string());
            answers.push(refused(&world, local, Method::POST, path, body).await);
        }
        assert_eq!(answers[0], (403, json!({"error": "Organization out of scope"})));
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        for moved in [json!(other), json!(null)] {
            let body = json!({"id": own, "organizationId": moved});
            let (status, told) = refused(&world, admin, Method::PUT, path, body).await;
            assert_eq!((status, detail(&told)), (400, ("organizationId", "invalid_value")));
        }
        let same = json!({"id": own, "organizationId": child, "primaryPhone": "1"});
        world.write(local, Method::PUT, path, same).await;
    }
}

#[actix_web::test]
async fn what_breaks_a_rule_is_refused() {
    let world = World::new().await;
    let who = &world.a.admin;
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
        let id = world.make(who, path, body.clone()).await;
        let own = if noun == "people" { &people[..] } else { &companies[..] };
        for (member, value, code) in both.iter().chain(own) {
            let new = with(&body, member, value.clone());
            let patch = json!({"id": id, *member: value});
            for (method, body) in [(Method::POST, new), (Method::PUT, patch)] {
                let (status, told) = refused(&world, who, method, path, body).await;

                assert_eq!((status, detail(&told)), (400, (*member, *code)), "{told}");
            }
        }
        let (status, told) = refused(&world, who, Method::POST, path, json!({})).await;
        assert_eq!((status, &told["details"][0]["code"]), (400, &json!("required")));
        assert_eq!(
            refused(&world, who, Method::PUT, path, body).await.0,
            400,
            "without an id"
        );
        assert_eq!(world.list(who, path).await, [id]);
    }
}

#[actix_web::test]
async fn crm_12_an_owner_is_an_active_user_who_reaches_the_record() {
    let world = World::new().await;
    let House {
        child,
        other,
        admin,
        local,
        stranger,
        plain,
        ..
    } = &world.a;
    let retired = world
        .account(&world.a, *child, "retired@alpha.test", &["*"], None)
        .await;
    let gone = world.account(&world.a, *child, "gone@alpha.test", &["*"], None).await;
    for (column, user) in [("is_active = false", &retired), ("deleted_at = now()", &gone)] {
        let sql = format!("update auth_users set {column} where id = '{}'", user.id);
        assert_eq!(world.app.sql(&sql).await, 1);
    }

    for (path, _, body) in kinds() {
        let body = with(&body, "organizationId", child.to_string());
        let id = world
            .make(admin, path, with(&body, "ownerUserId", local.id.to_string()))
            .await;
        let before = world.item(admin, path, id).await;
        assert_eq!(before["ownerName"], local.email);
        let mut unknown = Vec::new();
        // `local` sees the users of its own organization alone.
        for (who, owner) in [
            (admin, world.b.admin.id),
            (admin, retired.id),
            (admin, gone.id),
            (admin, uuid::Uuid::from_u128(1)),
            (local, stranger.id),
            (local, admin.id),
        ] {
            let patch = json!({"id": id, "ownerUserId": owner});
            unknown.push(refused(&world, who, Method::PUT, path, patch).await);
            let new = with(&body, "ownerUserId", owner.to_string());
            unknown.push(refused(&world, who, Method::POST, path, new).await);
        }
        assert_eq!(
            (unknown[0].0, detail(&unknown[0].1)),
            (400, ("ownerUserId", "unknown_reference"))
        );
        assert!(unknown.iter().all(|answer| *answer == unknown[0]), "{unknown:?}");
        for owner in [stranger, plain] {
            let patch = json!({"id": id, "ownerUserId": owner.id});
            let (status, told) = refused(&world, admin, Method::PUT, path, patch).await;
            assert_eq!((status, detail(&told)), (400, ("ownerUserId", "owner_out_of_scope")));
        }

        assert_eq!(world.item(admin, path, id).await, before);
        let elsewhere = with(&body, "organizationId", other.to_string());
        world
            .make(admin, path, with(&elsewhere, "ownerUserId", stranger.id.to_string()))
            .await;
        let cleared = json!({"id": id, "ownerUserId": null});
        world.write(local, Method::PUT, path, cleared).await;
        assert_eq!(world.item(admin, path, id).await["ownerName"], Value::Null);
    }
}

#[actix_web::test]
async fn an_owner_who_has_left_may_stay_in_the_row() {
    let world = World::new().await;
    let owner = world
        .account(&world.a, world.a.root, "owner@alpha.test", &["*"], None)
        .await;

    for (path, _, body) in kinds() {
        let id = world
            .make(&world.a.admin, path, with(&body, "ownerUserId", owner.id.to_string()))
            .await;
        let sql = format!("update auth_users set is_active = false where id = '{}'", owner.id);
        assert_eq!(world.app.sql(&sql).await, 1);
        let whole = json!({"id": id, "ownerUserId": owner.id, "primaryPhone": "1"});
        world.write(&world.a.admin, Method::PUT, path, whole).await;
        let sql = format!("update auth_users set is_active = true where id = '{}'", owner.id);
        assert_eq!(world.app.sql(&sql).await, 1);
    }
}
