//! What holds for companies as for people.

use actix_web::http::Method;
use backoffice_test_support::Duration;
use serde_json::{Value, json};

use crate::world::{Account, COMPANIES, House, PEOPLE, World, detail, id_of};

/// The least that a company and a person need.
fn kinds() -> [(&'static str, &'static str, Value); 2] {
    [
        (COMPANIES, "companies", json!({"displayName": "Acme"})),
        (PEOPLE, "people", json!({"firstName": "Ada", "lastName": "Doe"})),
    ]
}

fn with(body: &Value, member: &str, value: impl Into<Value>) -> Value {
    let mut body = body.clone();
    body[member] = value.into();
    body
}

/// What a refused write answers.
async fn refused(world: &World, who: &Account, method: Method, path: &str, body: Value) -> (u16, Value) {
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
        ("isActive", json!("yes"), "invalid_value"),
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
        ("websiteUrl", json!("ftp://acme.test"), "invalid_url"),
        ("websiteUrl", json!("javascript:alert(1)"), "invalid_url"),
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
        ("companyId", json!(7), "invalid_value"),
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

#[actix_web::test]
async fn others_records_are_not_there() {
    let world = World::new().await;
    let House {
        child,
        admin,
        local,
        stranger,
        ..
    } = &world.a;

    for (path, _, body) in kinds() {
        let id = world
            .make(admin, path, with(&body, "organizationId", child.to_string()))
            .await;
        assert_eq!(world.list(local, path).await, [id]);
        let unknown = uuid::Uuid::from_u128(1);
        for who in [&world.b.admin, stranger] {
            assert!(world.list(who, path).await.is_empty());
            assert!(world.list(who, &format!("{path}?ids={id}")).await.is_empty());
            for (method, target, body) in [
                (Method::GET, format!("{path}/ID"), None),
                (
                    Method::PUT,
                    path.to_owned(),
                    Some(json!({"id": "ID", "isActive": false})),
                ),
                (Method::DELETE, format!("{path}?id=ID"), None),
            ] {
                let named = async |id: uuid::Uuid| {
                    let put = |text: String| text.replace("ID", &id.to_string());
                    let body = body
                        .as_ref()
                        .map(|body| serde_json::from_str(&put(body.to_string())).expect("JSON"));
                    let response = world.send(who, method.clone(), &put(target.clone()), body).await;
                    (response.status, response.text())
                };
                let foreign = named(id).await;
                assert_eq!(foreign.0, 404, "{method}: {}", foreign.1);
                assert_eq!(foreign, named(unknown).await);
            }
        }
    }
}

#[actix_web::test]
async fn seeing_and_managing_are_two_rights() {
    let world = World::new().await;

    for (path, noun, body) in kinds() {
        let (view, manage) = (format!("customers.{noun}.view"), format!("customers.{noun}.manage"));
        let email = |who: &str| format!("{who}@{noun}.test");
        let viewer = world
            .account(&world.a, world.a.root, &email("viewer"), &[&view], None)
            .await;
        let manager = world
            .account(&world.a, world.a.root, &email("manager"), &[&manage], None)
            .await;

        let id = world.make(&manager, path, body.clone()).await;
        assert_eq!(world.list(&viewer, path).await, [id]);
        for (who, method, target, feature) in [
            (&manager, Method::GET, path.to_owned(), &view),
            (&manager, Method::GET, format!("{path}/{id}"), &view),
            (&viewer, Method::POST, path.to_owned(), &manage),
            (&viewer, Method::PUT, path.to_owned(), &manage),
            (&viewer, Method::DELETE, format!("{path}?id={id}"), &manage),
        ] {
            let (status, told) = refused(&world, who, method, &target, body.clone()).await;
            assert_eq!(
                (status, told),
                (403, json!({"error": "Forbidden", "requiredFeatures": [feature]}))
            );
        }
        assert_eq!(world.get(&world.a.plain, path).await.0, 403);
    }
}

#[actix_web::test]
async fn a_list_is_narrowed_searched_and_sorted() {
    let world = World::new().await;
    let House { admin, local, .. } = &world.a;

    for (path, noun, _) in kinds() {
        let mut made = Vec::new();
        for (name, owner, is_active, email) in [
            ("Beta 50%", Some(admin.id), true, "x@one.test"),
            ("Alpha_x", None, true, "y@two.test"),
            ("Gamma", Some(local.id), false, "z@one.test"),
        ] {
            world.app.advance(Duration::SECOND);
            let mut body = json!({"displayName": name, "ownerUserId": owner, "isActive": is_active,
                "primaryEmail": email, "organizationId": world.a.child});
            if noun == "people" {
                body["firstName"] = json!("First");
                body["lastName"] = json!(format!("L{name}"));
            } else {
                body["legalName"] = json!(format!("L{name}"));
            }
            made.push(world.make(admin, path, body).await);
        }
        let [beta, alpha, gamma] = made[..] else {
            panic!("three")
        };
        world.app.advance(Duration::SECOND);
        world
            .write(admin, Method::PUT, path, json!({"id": beta, "primaryPhone": "1"}))
            .await;

        for (query, expected) in [
            (String::new(), vec![gamma, alpha, beta]),
            ("?sortDir=asc".to_owned(), vec![beta, alpha, gamma]),
            ("?sortField=updatedAt".to_owned(), vec![alpha, gamma, beta]),
            ("?sortField=updatedAt&sortDir=desc".to_owned(), vec![beta, gamma, alpha]),
            ("?sortField=displayName".to_owned(), vec![alpha, beta, gamma]),
            ("?isActive=false".to_owned(), vec![gamma]),
            (format!("?ownerUserId={}", admin.id), vec![beta]),
            (format!("?ownerUserId={},none", local.id), vec![gamma, alpha]),
            ("?ownerUserId=none".to_owned(), vec![alpha]),
            ("?ownerUserId=".to_owned(), vec![]),
            (format!("?ids={alpha},{gamma}"), vec![gamma, alpha]),
            ("?ids=".to_owned(), vec![]),
            ("?search=BETA".to_owned(), vec![beta]),
            ("?search=%25".to_owned(), vec![beta]),
            ("?search=a_x".to_owned(), vec![alpha]),
            ("?search=lgam".to_owned(), vec![gamma]),
            ("?search=one.test&isActive=true".to_owned(), vec![beta]),
        ] {
            assert_eq!(
                world.list(admin, &format!("{path}{query}")).await,
                expected,
                "{path}{query}"
            );
        }
        let (_, page) = world.get(admin, &format!("{path}?page=2&pageSize=2")).await;
        assert_eq!(
            (id_of(&page["items"][0]), &page["total"], &page["totalPages"]),
            (beta, &json!(3), &json!(2))
        );
        for query in [
            "page=0",
            "pageSize=101",
            "ids=x",
            "ownerUserId=x",
            "isActive=x",
            "sortField=id",
            "sortDir=up",
        ] {
            assert_eq!(world.get(admin, &format!("{path}?{query}")).await.0, 400, "{query}");
        }
        let many = (0..201)
            .map(|number| uuid::Uuid::from_u128(number).to_string())
            .collect::<Vec<_>>();
        let many = format!("{path}?ids={}", many.join(","));
        assert_eq!(world.get(admin, &many).await.0, 400, "too many ids");
    }
}

#[actix_web::test]
async fn reading_is_recorded() {
    let world = World::new().await;
    let who = &world.a.admin;

    for (path, noun, body) in kinds() {
        let kind = if noun == "people" {
            "customers.person"
        } else {
            "customers.company"
        };
        let id = world.make(who, path, body).await;
        world.list(who, path).await;
        world.item(who, path, id).await;

        let query = format!(
            "select access_type, resource_id, organization_id from audit_access_logs where resource_kind = '{kind}' order by 1"
        );
        let row = |access: &str| json!({"access_type": access, "resource_id": id, "organization_id": world.a.root});
        assert_eq!(world.app.rows(&query).await, [row("read:item"), row("read:list")]);
    }
}
