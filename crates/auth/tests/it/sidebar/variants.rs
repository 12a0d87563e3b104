use actix_web::http::Method;
use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{VARIANTS, in_locale, ordered};
use crate::fixture::Fixture;

/// Creates a variant, one second later than any earlier request.
async fn create(fixture: &Fixture, body: Value) -> Value {
    fixture.app.advance(time::Duration::SECOND);
    let (status, body) = fixture.app.post(&fixture.a.token, VARIANTS, body).await;
    assert_eq!(status, 200, "{body}");
    body["variant"].clone()
}

fn path(variant: &Value) -> String {
    format!("{VARIANTS}/{}", variant["id"].as_str().expect("an id"))
}

async fn list(fixture: &Fixture) -> Vec<(String, bool)> {
    let (_, body) = fixture.app.get(&fixture.a.token, VARIANTS).await;
    let variants = body["variants"].as_array().expect("variants");
    let line = |one: &Value| {
        (
            one["name"].as_str().expect("a name").to_owned(),
            one["isActive"] == true,
        )
    };
    variants.iter().map(line).collect()
}

#[actix_web::test]
async fn acc_35_unnamed_variants_are_numbered() {
    let fixture = Fixture::new().await;
    let mut names = Vec::new();
    for body in [
        json!({}),
        json!({"name": " "}),
        json!({"name": "my PREFERENCES 3"}),
        json!({"name": null}),
    ] {
        names.push(create(&fixture, body).await["name"].clone());
    }
    let second = fixture.app.get(&fixture.a.token, VARIANTS).await.1["variants"][1].clone();
    fixture.app.delete(&fixture.a.token, &path(&second), json!(null)).await;

    names.push(create(&fixture, json!({})).await["name"].clone());

    assert_eq!(
        json!(names),
        json!([
            "My preferences",
            "My preferences 2",
            "my PREFERENCES 3",
            "My preferences 4",
            "My preferences 2"
        ])
    );
}

#[actix_web::test]
async fn acc_35_a_taken_name_is_a_conflict() {
    let fixture = Fixture::new().await;
    let (_, other) = fixture.user("ann@alpha.test", &["admin"]).await;
    create(&fixture, json!({"name": "Work"})).await;
    let second = create(&fixture, json!({"name": "Home"})).await;

    let (created, text) = fixture
        .app
        .post(&fixture.a.token, VARIANTS, json!({"name": " WORK "}))
        .await;
    let (renamed, _) = fixture
        .app
        .put(&fixture.a.token, &path(&second), json!({"name": "work"}))
        .await;
    let (own, _) = fixture
        .app
        .put(&fixture.a.token, &path(&second), json!({"name": "HOME"}))
        .await;
    let (others, _) = fixture.app.post(&other, VARIANTS, json!({"name": "Work"})).await;
    let polish = in_locale(
        &fixture.app,
        &fixture.a.token,
        "pl",
        Method::POST,
        VARIANTS,
        Some(json!({"name": "Work"})),
    )
    .await;

    assert_eq!((created, text["code"].as_str()), (409, Some("duplicate_name")));
    assert_eq!(text["error"], "Variant name already in use");
    assert_eq!((renamed, own, others, polish.status), (409, 200, 200, 200));
}

#[actix_web::test]
async fn acc_35_activating_one_deactivates_the_others_of_its_locale() {
    let fixture = Fixture::new().await;
    let polish = json!({"name": "Po polsku", "isActive": true});
    in_locale(
        &fixture.app,
        &fixture.a.token,
        "pl",
        Method::POST,
        VARIANTS,
        Some(polish),
    )
    .await;
    create(&fixture, json!({"name": "One", "isActive": true})).await;
    let two = create(
        &fixture,
        json!({"name": "Two", "isActive": true, "settings": ordered("x")}),
    )
    .await;
    let three = create(&fixture, json!({"name": "Three"})).await;
    assert_eq!(
        (two["isActive"].clone(), two["settings"].clone()),
        (json!(true), ordered("x"))
    );

    let (status, response) = fixture
        .app
        .put(&fixture.a.token, &path(&three), json!({"isActive": true}))
        .await;

    assert_eq!((status, response["locale"].as_str()), (200, Some("en")));
    assert_eq!(response["variant"]["isActive"], true);
    let expected = [("One", false), ("Two", false), ("Three", true)].map(|(name, active)| (name.to_owned(), active));
    assert_eq!(list(&fixture).await, expected);
    let other = in_locale(&fixture.app, &fixture.a.token, "pl", Method::GET, VARIANTS, None)
        .await
        .json();
    assert_eq!(other["variants"][0]["isActive"], true, "the other locale is untouched");
}

#[actix_web::test]
async fn acc_35_twenty_activations_at_once_leave_one_active() {
    let fixture = Fixture::new().await;
    let mut variants = Vec::new();
    for _ in 0..20 {
        variants.push(create(&fixture, json!({})).await);
    }
    let activate = async |variant: &Value| {
        let response = fixture
            .app
            .send(&fixture.a.token, Method::PUT, &path(variant), json!({"isActive": true}))
            .await;
        response.status
    };

    let responses = join_all(variants.iter().map(activate)).await;

    assert_eq!(responses, vec![200; 20]);
    let active = list(&fixture).await.into_iter().filter(|(_, is_active)| *is_active);
    assert_eq!(active.count(), 1);
    let creating =
        join_all((0..10).map(|_| fixture.app.post(&fixture.a.token, VARIANTS, json!({"isActive": true})))).await;
    assert!(creating.iter().all(|(status, _)| *status == 200), "{creating:?}");
    let active = list(&fixture).await.into_iter().filter(|(_, is_active)| *is_active);
    assert_eq!(active.count(), 1);
}

#[actix_web::test]
async fn undoing_an_activation_activates_what_was_active_before() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    create(&fixture, json!({"name": "One", "isActive": true})).await;
    let two = create(&fixture, json!({"name": "Two"})).await;
    let state = |one, two| {
        [("One", one), ("Two", two)]
            .map(|(name, active)| (name.to_owned(), active))
            .to_vec()
    };

    let done = app
        .send(token, Method::PUT, &path(&two), json!({"isActive": true}))
        .await;
    assert_eq!(list(&fixture).await, state(false, true));
    let (undone, body) = app.undo(token, &done).await;
    assert_eq!((undone, list(&fixture).await), (200, state(true, false)), "{body}");
    let (redone, body) = app.redo(token, &done).await;
    assert_eq!((redone, list(&fixture).await), (200, state(false, true)), "{body}");

    let three = json!({"name": "Three", "isActive": true});
    let created = app.send(token, Method::POST, VARIANTS, three).await;
    let (undone, body) = app.undo(token, &created).await;
    assert_eq!((undone, list(&fixture).await), (200, state(false, true)), "{body}");
    let (redone, body) = app.redo(token, &created).await;
    assert_eq!(redone, 200, "{body}");
    let active: Vec<_> = list(&fixture).await.into_iter().filter(|(_, active)| *active).collect();
    assert_eq!(active, [("Three".to_owned(), true)]);
}

#[actix_web::test]
async fn an_undo_that_would_activate_a_second_variant_or_take_a_name_is_a_conflict() {
    let fixture = Fixture::new().await;
    let (app, token) = (&fixture.app, &fixture.a.token);
    let one = create(&fixture, json!({"name": "One", "isActive": true})).await;
    let delete = || app.request(Method::DELETE, &path(&one)).bearer(token).send();
    let done = delete().await;
    assert_eq!((done.status, done.json()), (200, json!({"ok": true})));
    let two = create(&fixture, json!({"name": "Two", "isActive": true})).await;

    let (status, body) = app.undo(token, &done).await;
    assert_eq!((status, body["code"].as_str()), (400, Some("undo_conflict")), "{body}");
    let rename = json!({"name": "one", "isActive": false});
    app.put(token, &path(&two), rename).await;
    let (status, body) = app.undo(token, &done).await;
    assert_eq!((status, body["code"].as_str()), (400, Some("undo_conflict")), "{body}");
    app.put(token, &path(&two), json!({"name": "Two"})).await;
    let (status, body) = app.undo(token, &done).await;

    assert_eq!(status, 200, "{body}");
    let expected = [("One", true), ("Two", false)].map(|(name, active)| (name.to_owned(), active));
    assert_eq!(list(&fixture).await, expected);
}

#[actix_web::test]
async fn a_deleted_variant_is_an_invisible_tombstone() {
    let fixture = Fixture::new().await;
    let one = create(&fixture, json!({"isActive": true})).await;

    let (status, _) = fixture.app.delete(&fixture.a.token, &path(&one), json!(null)).await;

    let rows = fixture
        .app
        .rows("select is_active, deleted_at from auth_sidebar_variants")
        .await;
    assert_eq!(
        (status, rows.len(), rows[0]["is_active"].clone()),
        (200, 1, json!(false))
    );
    assert!(rows[0]["deleted_at"].is_string());
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let response = fixture
            .app
            .send(&fixture.a.token, method, &path(&one), json!({"isActive": true}))
            .await;
        assert_eq!(
            (response.status, response.json()),
            (404, json!({"error": "Variant not found"}))
        );
    }
    assert!(list(&fixture).await.is_empty());
}

#[actix_web::test]
async fn variants_of_others_and_of_other_locales_are_not_found() {
    let fixture = Fixture::new().await;
    let one = create(&fixture, json!({})).await;
    let (_, colleague) = fixture.user("ann@alpha.test", &["admin"]).await;
    let polish = in_locale(&fixture.app, &fixture.a.token, "pl", Method::GET, &path(&one), None).await;
    assert_eq!(polish.status, 404);
    let unknown = format!("{VARIANTS}/{}", Uuid::from_u128(7));
    for (token, path) in [
        (&colleague, path(&one)),
        (&fixture.b.token, path(&one)),
        (&fixture.root, path(&one)),
        (&fixture.a.token, unknown),
        (&fixture.a.token, format!("{VARIANTS}/x")),
    ] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let response = fixture.app.send(token, method, &path, json!({"name": "Mine"})).await;
            assert_eq!(
                (response.status, response.json()),
                (404, json!({"error": "Variant not found"})),
                "{path}"
            );
        }
    }
    let (_, untouched) = fixture.app.get(&fixture.a.token, &path(&one)).await;
    assert_eq!(untouched["variant"], one);
}

#[actix_web::test]
async fn bad_variants_are_rejected() {
    let fixture = Fixture::new().await;
    let one = create(&fixture, json!({})).await;
    for body in [
        json!({"name": "x".repeat(121)}),
        json!({"name": 7}),
        json!({"name": "a\u{7}b"}),
        json!({"settings": []}),
        json!({"settings": {"version": 0}}),
        json!({"isActive": "yes"}),
    ] {
        let (created, text) = fixture.app.post(&fixture.a.token, VARIANTS, body.clone()).await;
        let (updated, _) = fixture.app.put(&fixture.a.token, &path(&one), body.clone()).await;
        assert_eq!(
            (created, updated, text["error"].as_str()),
            (400, 400, Some("Invalid input")),
            "{body}"
        );
    }
    let (blank, _) = fixture
        .app
        .put(&fixture.a.token, &path(&one), json!({"name": " "}))
        .await;
    assert_eq!(blank, 400);
}

#[actix_web::test]
async fn reading_needs_no_feature_writing_does_and_nothing_is_cached() {
    let fixture = Fixture::new().await;
    let (_, plain) = fixture.user("ann@alpha.test", &[]).await;
    let one = create(&fixture, json!({})).await;

    let read = fixture.app.send(&plain, Method::GET, VARIANTS, json!({})).await;
    let write = fixture.app.send(&plain, Method::POST, VARIANTS, json!({})).await;
    let got = fixture
        .app
        .send(&fixture.a.token, Method::GET, &path(&one), json!({}))
        .await;

    assert_eq!(
        (read.status, read.json()),
        (200, json!({"locale": "en", "variants": []}))
    );
    assert_eq!(read.header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(got.header("cache-control").as_deref(), Some("no-store"));
    assert_eq!(write.status, 403);
    assert_eq!(write.json()["requiredFeatures"], json!(["auth.sidebar.manage"]));
}

#[actix_web::test]
async fn a_stale_change_of_a_variant_is_rejected() {
    let fixture = Fixture::new().await;
    let one = create(&fixture, json!({})).await;
    let read = one["updatedAt"].as_str().expect("an instant").to_owned();
    let put = |name: &str| {
        let request = fixture.app.request(Method::PUT, &path(&one)).bearer(&fixture.a.token);
        let request = request.header("if-match", &format!("\"{read}\""));
        request.json(&json!({"name": name})).send()
    };

    let (first, second) = (put("One").await, put("Two").await);

    assert_eq!((first.status, second.status), (200, 409));
    assert_eq!(second.json()["code"], "optimistic_lock_conflict");
}
