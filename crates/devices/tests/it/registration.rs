//! Registration, deactivation and revival of devices.

use actix_web::http::Method;
use backoffice_test_accounts::login;
use backoffice_test_support::{Duration, details};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::fixture::{DEVICES, Fixture, OF_USERS, one};

#[actix_web::test]
async fn dev_1_a_repeated_registration_updates_the_device() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;

    let first = fixture
        .register(token, json!({"deviceId": " d1 ", "platform": "ios"}))
        .await;
    fixture.app.advance(Duration::MINUTE);
    let again = json!({"deviceId": "d1", "platform": "ios", "osVersion": "17.1"});
    let second = fixture.register(token, again).await;

    assert_eq!((&first["deviceId"], &first["revived"]), (&json!("d1"), &json!(false)));
    assert_eq!(first, second);
    let response = fixture.app.send(token, Method::GET, DEVICES, &Value::Null).await;
    assert_eq!(response.header("deprecation").as_deref(), Some("@1795132800"));
    let link = response.header("link").expect("a link");
    assert!(link.contains("rel=\"deprecation\""), "{link}");
    let list = response.json();
    assert_eq!(list["total"], 1);
    let item = list["items"][0].as_object().expect("a device");
    assert_eq!(item["osVersion"], "17.1");
    assert_eq!(item["userId"], fixture.a.admin.to_string());
    assert_eq!(item["organizationId"], fixture.a.organization.to_string());
    for (name, alias) in [
        ("tenantId", "tenant_id"),
        ("organizationId", "organization_id"),
        ("userId", "user_id"),
        ("deviceId", "device_id"),
        ("clientAppVersion", "client_app_version"),
        ("osVersion", "os_version"),
        ("pushProvider", "push_provider"),
        ("pushTokenUpdatedAt", "push_token_updated_at"),
        ("lastSeenAt", "last_seen_at"),
        ("createdAt", "created_at"),
        ("updatedAt", "updated_at"),
    ] {
        assert_eq!(item.get(name), item.get(alias), "{name}");
        assert!(item.contains_key(name), "{name}");
    }
}

#[actix_web::test]
async fn a_registration_without_changes_notes_only_the_time() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let body = json!({"deviceId": "d1", "platform": "ios", "pushToken": "t", "pushProvider": "log"});
    fixture.register(token, body.clone()).await;
    let before = fixture.devices(token).await;
    let entries = fixture.entries().await;

    fixture.app.advance(Duration::HOUR);
    fixture.register(token, body).await;

    let after = fixture.devices(token).await;
    assert_eq!(fixture.entries().await, entries);
    assert_ne!(after[0]["lastSeenAt"], before[0]["lastSeenAt"]);
    for field in ["updatedAt", "pushTokenUpdatedAt", "createdAt"] {
        assert_eq!(after[0][field], before[0][field], "{field}");
    }
}

#[actix_web::test]
async fn dev_2_a_deactivated_device_is_revived_without_its_token() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let first = json!({"deviceId": "d1", "platform": "ios", "osVersion": "17", "pushToken": "t"});
    let device = fixture.register(token, first).await;
    let created = fixture.devices(token).await[0]["createdAt"].clone();
    fixture.app.advance(Duration::MINUTE);

    let deactivated = fixture
        .app
        .send(token, Method::DELETE, &one(&device), &Value::Null)
        .await;
    assert_eq!((deactivated.status, deactivated.json()), (200, json!({"ok": true})));
    assert_eq!(deactivated.operation(), None, "it can't be undone");
    let events =
        "select 1 from core_outbox_events where name = 'devices.device.deactivated' and audience_id is not null";
    assert_eq!(fixture.app.rows(events).await.len(), 1);
    assert!(fixture.devices(token).await.is_empty());
    let again = fixture
        .app
        .send(token, Method::DELETE, &one(&device), &Value::Null)
        .await;
    assert_eq!(
        (again.status, again.json()["error"].clone()),
        (404, json!("Device not found"))
    );
    let stored = "select push_token is null and push_token_hash is null as empty from devices_devices";
    assert_eq!(fixture.app.rows(stored).await, [json!({"empty": true})]);

    let revived = fixture
        .register(token, json!({"deviceId": "d1", "platform": "android"}))
        .await;
    assert_eq!(revived["id"], device["id"]);
    assert_eq!(revived["revived"], true);
    let item = &fixture.devices(token).await[0];
    assert_eq!(item["pushEnabled"], false);
    assert_eq!(
        (&item["platform"], &item["osVersion"]),
        (&json!("android"), &json!("17"))
    );
    assert_eq!(item["createdAt"], created);
}

#[actix_web::test]
async fn a_registration_moves_a_device_to_the_present_organization_of_its_owner() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let branch = fixture.organization("Branch", Some(fixture.a.organization)).await;
    let (user, own) = fixture.user("employee@alpha.test", &["employee"]).await;
    let body = |name: &str| json!({"deviceId": name, "platform": "web"});
    fixture.register(&own, body("live")).await;
    let path = one(&fixture.register(&own, body("deactivated")).await);
    assert_eq!(fixture.app.delete(&own, &path, Value::Null).await.0, 200);
    let moved = json!({"id": user, "organizationId": branch});
    assert_eq!(fixture.app.put(token, "/auth/users", moved).await.0, 200);
    fixture.role("local", &["devices.admin"], Some(&[branch])).await;
    let (_, administrator) = fixture.user("local@alpha.test", &["local"]).await;
    let own = login(&fixture.app, "employee@alpha.test").await;
    // The list shows both devices at once, because their owner belongs to the branch.
    let of_branch = async || -> Vec<Value> {
        let devices = fixture.list(&administrator, OF_USERS).await.into_iter();
        let moved = devices.filter(|device| device["organizationId"] == branch.to_string());
        moved.map(|device| device["deviceId"].clone()).collect()
    };
    assert!(of_branch().await.is_empty());

    fixture.app.advance(Duration::MINUTE);
    fixture.register(&own, body("deactivated")).await;
    fixture.app.advance(Duration::MINUTE);
    let updated = fixture.app.send(&own, Method::POST, DEVICES, &body("live")).await;

    assert_eq!(of_branch().await, ["live", "deactivated"]);
    assert_eq!(fixture.app.undo(token, &updated).await.0, 200);
    assert_eq!(of_branch().await, ["deactivated"]);
    assert_eq!(fixture.app.redo(token, &updated).await.0, 200);
    assert_eq!(of_branch().await.len(), 2);
    let entries = fixture.entries().await;
    fixture.register(&own, body("live")).await;
    assert_eq!(fixture.entries().await, entries, "nothing has changed");
}

#[actix_web::test]
async fn a_stale_version_rejects_a_change_and_changes_nothing() {
    let fixture = Fixture::new().await;
    let token = &fixture.a.token;
    let device = fixture
        .register(token, json!({"deviceId": "d1", "platform": "ios", "pushToken": "t"}))
        .await;
    let before = fixture.devices(token).await;
    let current = before[0]["updatedAt"].as_str().expect("an instant");
    fixture.app.advance(Duration::MINUTE);
    let stale = "2026-01-01T00:00:00.000Z";
    let send = async |method: Method, header: (&str, &str)| {
        let request = fixture.app.request(method, &one(&device)).bearer(token);
        let body = json!({"locale": "pl", "pushToken": null, "lastSeenAt": "2026-01-02T00:00:00Z"});
        request.header(header.0, header.1).json(&body).send().await
    };

    for method in [Method::PUT, Method::DELETE] {
        for header in [
            ("If-Match", format!("\"{stale}\"")),
            ("X-Expected-Updated-At", stale.to_owned()),
        ] {
            let response = send(method.clone(), (header.0, &header.1)).await;
            let expected = json!({"error": "record_modified", "code": "optimistic_lock_conflict",
                "currentUpdatedAt": current, "expectedUpdatedAt": stale});
            assert_eq!(
                (response.status, response.json()),
                (409, expected),
                "{method} {header:?}"
            );
        }
    }
    assert_eq!(fixture.devices(token).await, before);
    let tag = format!("\"{current}\"");
    assert_eq!(send(Method::PUT, ("If-Match", &tag)).await.status, 200);
}

#[actix_web::test]
async fn dev_3_parallel_registrations_have_one_row() {
    let fixture = Fixture::new().await;
    let register = || {
        fixture.register(
            &fixture.a.token,
            json!({"deviceId": "d1", "platform": "web", "pushToken": "t"}),
        )
    };

    let registered = join_all((0..50).map(|_| register())).await;

    assert!(registered.iter().all(|one| one["id"] == registered[0]["id"]));
    assert_eq!(fixture.devices(&fixture.a.token).await.len(), 1);
    let created = "select 1 from audit_action_logs where command_id = 'devices.device.register'";
    assert_eq!(fixture.app.rows(created).await.len(), 1);
}

#[actix_web::test]
async fn dev_8_a_further_device_replaces_the_one_seen_longest_ago() {
    let fixture = Fixture::with_config("[rate_limits]\nenabled = false\n[devices]\nmax_per_user = 3\n").await;
    let token = &fixture.a.token;
    for name in ["d1", "d2", "d3"] {
        fixture
            .register(token, json!({"deviceId": name, "platform": "web"}))
            .await;
        fixture.app.advance(Duration::MINUTE);
    }
    fixture
        .register(token, json!({"deviceId": "d1", "platform": "web"}))
        .await;
    fixture.app.advance(Duration::MINUTE);

    let body = json!({"deviceId": "d4", "platform": "web"});
    let response = fixture.app.send(token, Method::POST, DEVICES, &body).await;

    let names = async || -> Vec<Value> {
        let devices = fixture.devices(token).await;
        devices.into_iter().map(|device| device["deviceId"].clone()).collect()
    };
    assert_eq!(response.status, 201);
    assert_eq!(names().await, ["d4", "d1", "d3"]);
    // The undo also restores the replaced device.
    assert_eq!(fixture.app.undo(token, &response).await.0, 200);
    assert_eq!(names().await, ["d1", "d3", "d2"]);
}

#[actix_web::test]
async fn a_redo_restores_no_device_beyond_the_limit() {
    let fixture = Fixture::with_config("[rate_limits]\nenabled = false\n[devices]\nmax_per_user = 2\n").await;
    let token = &fixture.a.token;
    let register = async |name: &str| {
        fixture.app.advance(Duration::MINUTE);
        let body = json!({"deviceId": name, "platform": "web"});
        let response = fixture.app.send(token, Method::POST, DEVICES, &body).await;
        assert_eq!(response.status, 201, "{}", response.text());
        response
    };
    let names = async || -> Vec<Value> {
        let devices = fixture.devices(token).await;
        devices.into_iter().map(|device| device["deviceId"].clone()).collect()
    };
    let first = register("d1").await;
    assert_eq!(fixture.app.undo(token, &first).await.0, 200);
    let second = register("d2").await;
    register("d3").await;

    let (status, rejected) = fixture.app.redo(token, &first).await;

    assert_eq!(
        (status, &rejected["code"], &rejected["fields"]),
        (400, &json!("undo_conflict"), &json!(["devices.device"])),
        "{rejected}"
    );
    assert_eq!(names().await, ["d3", "d2"]);
    let deactivated = fixture.app.delete(token, &one(&second.json()), Value::Null).await;
    assert_eq!(deactivated.0, 200, "{}", deactivated.1);
    let (status, redone) = fixture.app.redo(token, &first).await;
    assert_eq!(status, 200, "{redone}");

    // The redo of a registration that replaces a device stays within the limit.
    let fourth = register("d4").await;
    assert_eq!(names().await, ["d4", "d3"]);
    assert_eq!(fixture.app.undo(token, &fourth).await.0, 200);
    assert_eq!(names().await, ["d3", "d1"]);
    let (status, redone) = fixture.app.redo(token, &fourth).await;
    assert_eq!(status, 200, "{redone}");
    assert_eq!(names().await, ["d4", "d3"]);
}

#[actix_web::test]
async fn a_device_that_is_seen_during_a_registration_is_replaced_as_it_is_logged() {
    let fixture = Fixture::with_config("[rate_limits]\nenabled = false\n[devices]\nmax_per_user = 3\n").await;
    let token = &fixture.a.token;
    for name in ["d1", "d2", "d3"] {
        fixture
            .register(token, json!({"deviceId": name, "platform": "web"}))
            .await;
        fixture.app.advance(Duration::MINUTE);
    }

    // The registration has found `d1`, and waits for its row, when another request notes that it was seen.
    let seen = "update devices_devices set last_seen_at = '2100-01-01T00:00:00Z' where device_id = 'd1'";
    let body = json!({"deviceId": "d4", "platform": "web"});
    let register = fixture.app.send(token, Method::POST, DEVICES, &body);
    let response = fixture.app.database().while_changing(seen, register).await;

    let names = async || -> Vec<Value> {
        let devices = fixture.devices(token).await;
        devices.into_iter().map(|device| device["deviceId"].clone()).collect()
    };
    assert_eq!(response.status, 201, "{}", response.text());
    assert_eq!(names().await, ["d4", "d3", "d2"]);
    assert_eq!(fixture.app.undo(token, &response).await.0, 200);
    assert_eq!(names().await, ["d1", "d3", "d2"]);
}

#[actix_web::test]
async fn the_locale_of_a_new_device_is_the_accepted_language() {
    let fixture = Fixture::new().await;
    let register = async |body: Value| {
        let request = fixture.app.request(Method::POST, DEVICES).bearer(&fixture.a.token);
        let request = request.header("Accept-Language", "*;q=0.9, pt-BR, en;q=0.1");
        assert_eq!(request.json(&body).send().await.status, 201);
        fixture.devices(&fixture.a.token).await[0]["locale"].clone()
    };

    assert_eq!(register(json!({"deviceId": "d1", "platform": "web"})).await, "pt-BR");
    assert_eq!(
        register(json!({"deviceId": "d1", "platform": "web", "locale": "pl"})).await,
        "pl"
    );
    assert_eq!(register(json!({"deviceId": "d1", "platform": "web"})).await, "pl");
    assert_eq!(
        register(json!({"deviceId": "d1", "platform": "web", "locale": null})).await,
        Value::Null
    );
}

#[actix_web::test]
async fn all_invalid_fields_are_reported() {
    let fixture = Fixture::new().await;
    let expected = |list: &[(&'static str, &'static str)]| {
        let mut list = list.to_vec();
        list.sort_unstable();
        list
    };
    for (body, invalid) in [
        (json!({}), &[("deviceId", "required"), ("platform", "required")][..]),
        (
            json!({"deviceId": " ", "platform": "phone", "pushToken": ""}),
            &[
                ("deviceId", "required"),
                ("platform", "invalid_value"),
                ("pushToken", "required"),
            ],
        ),
        (
            json!({"deviceId": "d".repeat(256), "platform": "ios", "clientAppVersion": "1".repeat(65), "osVersion": 17,
                "locale": "not a tag", "pushToken": "t".repeat(4097), "pushProvider": "p".repeat(33)}),
            &[
                ("deviceId", "too_long"),
                ("clientAppVersion", "too_long"),
                ("osVersion", "invalid_type"),
                ("locale", "invalid_value"),
                ("pushToken", "too_long"),
                ("pushProvider", "too_long"),
            ],
        ),
    ] {
        let (status, response) = fixture.app.post(&fixture.a.token, DEVICES, body).await;
        assert_eq!(status, 400, "{response}");
        let mut found = details(&response);
        found.sort_unstable();
        assert_eq!(found, expected(invalid), "{response}");
    }
    assert!(fixture.devices(&fixture.a.token).await.is_empty());
}

#[actix_web::test]
async fn a_list_is_not_sent_again_for_its_tag_weak_or_strong() {
    let fixture = Fixture::new().await;
    let list = async |tag: &str| {
        let request = fixture.app.request(Method::GET, DEVICES).bearer(&fixture.a.token);
        request.header("If-None-Match", tag).send().await
    };
    let first = list("\"other\"").await;
    let weak = first.header("etag").expect("a tag");
    let strong = weak.strip_prefix("W/").expect("a weak tag");

    assert_eq!(first.status, 200);
    for tag in [weak.as_str(), strong, &format!("\"other\", {strong}")] {
        let response = list(tag).await;
        assert_eq!(
            (response.status, response.header("etag").as_ref()),
            (304, Some(&weak)),
            "{tag}"
        );
    }
    assert_eq!(list("*").await.status, 200);

    fixture
        .register(&fixture.a.token, json!({"deviceId": "d1", "platform": "ios"}))
        .await;
    assert_eq!(list(strong).await.status, 200);
}

#[actix_web::test]
async fn registrations_of_a_user_are_limited() {
    let fixture = Fixture::with_config("").await;
    let body = json!({"deviceId": "d1", "platform": "web"});
    for _ in 0..60 {
        fixture.register(&fixture.a.token, body.clone()).await;
    }

    let (status, _) = fixture.app.post(&fixture.a.token, DEVICES, body.clone()).await;

    assert_eq!(status, 429);
    fixture.register(&fixture.b.token, body).await;
}
