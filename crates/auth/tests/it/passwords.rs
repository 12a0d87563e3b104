//! Rules for passwords, and how they are stored.

use actix_web::http::Method;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{CONFIG, Fixture, PASSWORD, login};

async fn create(fixture: &Fixture, email: &str, password: &str) -> (u16, Value) {
    let body = json!({
        "email": email, "password": password, "organizationId": fixture.a.organization, "roles": []
    });
    fixture.app.post(&fixture.a.token, "/auth/users", body).await
}

async fn sign_in(fixture: &Fixture, email: &str, password: &str) -> u16 {
    let body = json!({"email": email, "password": password});
    fixture.app.post("", "/auth/login", body).await.0
}

#[actix_web::test]
async fn acc_15_lengths_are_counted_in_characters() {
    let fixture = Fixture::new().await;
    let emoji = "\u{1F600}\u{1F916}".repeat(100);
    for (number, taken) in ["8 chars!", &"y".repeat(256), &emoji].into_iter().enumerate() {
        let email = format!("taken{number}@alpha.test");

        let (status, body) = create(&fixture, &email, taken).await;

        assert_eq!(status, 201, "{body}");
        assert_eq!(sign_in(&fixture, &email, taken).await, 200);
        let shorter: String = taken.chars().skip(1).collect();
        assert_eq!(sign_in(&fixture, &email, &shorter).await, 401, "nothing is cut");
    }
    for (rejected, code) in [
        ("7 chars", "too_short"),
        (&"y".repeat(257), "too_long"),
        ("password1", "too_common"),
        ("PassWord1", "too_common"),
        ("REFUSED@ALPHA.TEST", "equals_email"),
    ] {
        let (status, body) = create(&fixture, "refused@alpha.test", rejected).await;

        assert_eq!(
            (status, body["code"].as_str()),
            (400, Some("password_policy")),
            "{rejected}"
        );
        assert_eq!(body["details"][0]["code"], code, "{rejected}");
    }
    let long = fixture
        .app
        .rows("select id from auth_users where email_norm = 'refused@alpha.test'");
    assert!(long.await.is_empty());
}

#[actix_web::test]
async fn acc_15_composed_and_decomposed_forms_sign_in_alike() {
    let fixture = Fixture::new().await;
    let (composed, decomposed) = ("Gr\u{fc}\u{df}e aus K\u{f6}ln", "Gru\u{308}\u{df}e aus Ko\u{308}ln");
    create(&fixture, "composed@alpha.test", composed).await;
    create(&fixture, "decomposed@alpha.test", decomposed).await;

    for email in ["composed@alpha.test", "decomposed@alpha.test"] {
        for form in [composed, decomposed] {
            assert_eq!(sign_in(&fixture, email, form).await, 200, "{email}");
        }
        assert_eq!(sign_in(&fixture, email, "Grusse aus Koln").await, 401);
    }
    // Eight characters once they are composed, and seven.
    let (eight, _) = create(&fixture, "eight@alpha.test", &"u\u{308}".repeat(8)).await;
    let (seven, _) = create(&fixture, "seven@alpha.test", &"u\u{308}".repeat(7)).await;
    assert_eq!((eight, seven), (201, 400));
}

#[actix_web::test]
async fn acc_15_the_longest_password_is_typed_in_every_form_of_its_characters() {
    let fixture = Fixture::new().await;
    // 768 bytes when composed, and 1280 otherwise.
    let (composed, decomposed) = ("\u{1e69}".repeat(256), "s\u{323}\u{307}".repeat(256));
    let (status, body) = create(&fixture, "long@alpha.test", &composed).await;
    assert_eq!(status, 201, "{body}");

    for form in [&composed, &decomposed] {
        let body = json!({"email": "long@alpha.test", "password": form});
        let (status, session) = fixture.app.post("", "/auth/login", body).await;
        assert_eq!(status, 200, "{session}");
        let token = session["token"].as_str().expect("a token");

        let body = json!({"password": composed, "currentPassword": form});
        let (status, body) = fixture.app.put(token, "/auth/profile", body).await;

        assert_eq!(status, 200, "{body}");
    }
    let too_long = "s\u{323}\u{307}".repeat(342);
    assert_eq!(sign_in(&fixture, "long@alpha.test", &too_long).await, 400, "1026 bytes");
    assert_eq!(sign_in(&fixture, "long@alpha.test", &decomposed.repeat(100)).await, 400);
}

async fn stored(fixture: &Fixture, user: Uuid) -> (String, Value) {
    let query = format!("select password_hash, updated_at from auth_users where id = '{user}'");
    let rows = fixture.app.rows(&query).await;
    let hash = rows[0]["password_hash"].as_str().expect("a hash").to_owned();
    (hash, rows[0]["updated_at"].clone())
}

#[actix_web::test]
async fn acc_16_the_next_sign_in_hashes_anew_under_other_parameters() {
    let fixture = Fixture::new().await;
    let other = CONFIG.replace("iterations = 1", "iterations = 2");
    let other = fixture
        .app
        .second_node_with(&format!("{other}[rate_limits]\nenabled = false\n"))
        .await;
    let (before, moment) = stored(&fixture, fixture.a.admin).await;
    fixture.app.advance(backoffice_test_support::Duration::minutes(1));

    let wrong = json!({"email": "admin@alpha.test", "password": "wrong password"});
    assert_eq!(other.post("", "/auth/login", wrong).await.0, 401);
    assert_eq!(
        stored(&fixture, fixture.a.admin).await.0,
        before,
        "a failure stores nothing"
    );
    login(&other, "admin@alpha.test").await;
    let (after, moment_after) = stored(&fixture, fixture.a.admin).await;
    login(&other, "admin@alpha.test").await;

    assert!(before.contains("t=1") && after.contains("t=2"), "{before} {after}");
    assert_eq!(moment, moment_after, "nothing changed that anybody could see");
    assert_eq!(
        stored(&fixture, fixture.a.admin).await.0,
        after,
        "the same parameters: the same hash"
    );
    assert_eq!(
        sign_in(&fixture, "admin@alpha.test", PASSWORD).await,
        200,
        "either node verifies it"
    );
}

#[actix_web::test]
async fn acc_17_an_own_address_needs_the_current_password_too() {
    let fixture = Fixture::new().await;
    let other = login(&fixture.app, "admin@alpha.test").await;
    let put = |body| fixture.app.put(&fixture.a.token, "/auth/profile", body);
    let address = || {
        fixture
            .app
            .rows("select email from auth_users where email_norm like '%alpha.test'")
    };
    let before = address().await;

    let (without, text) = put(json!({"email": "new@alpha.test"})).await;
    let (wrong, wrong_text) = put(json!({"email": "new@alpha.test", "currentPassword": "nope"})).await;
    assert_eq!(address().await, before);
    let (right, response) = put(json!({"email": "New@alpha.test", "currentPassword": PASSWORD})).await;

    assert_eq!(
        (without, text["code"].as_str()),
        (400, Some("current_password_required"))
    );
    assert_eq!(
        (wrong, wrong_text["code"].as_str()),
        (400, Some("invalid_current_password"))
    );
    assert_eq!((right, response["email"].as_str()), (200, Some("New@alpha.test")));
    // A changed address ends no session; it voids tokens in mails.
    for token in [&fixture.a.token, &other] {
        assert_eq!(fixture.app.get(token, "/auth/profile").await.0, 200);
    }
    assert_eq!(sign_in(&fixture, "admin@alpha.test", PASSWORD).await, 401);
    assert_eq!(sign_in(&fixture, "new@alpha.test", PASSWORD).await, 200);
}

#[actix_web::test]
async fn acc_33_no_way_to_set_a_password_can_be_undone() {
    let fixture = Fixture::new().await;
    let (user, _) = fixture.user("ann@alpha.test", &[]).await;
    let secret = "very unusual passphrase 4711";
    for (path, body) in [
        ("/auth/users", json!({"id": user, "password": secret})),
        (
            "/auth/users",
            json!({"id": user, "password": secret, "name": "Ann", "isActive": true}),
        ),
        (
            "/auth/profile",
            json!({"password": secret, "currentPassword": PASSWORD, "name": "Ada"}),
        ),
    ] {
        let response = fixture
            .app
            .request(Method::PUT, path)
            .bearer(&fixture.a.token)
            .json(&body)
            .send()
            .await;

        assert_eq!((response.status, response.operation()), (200, None), "{body}");
    }
    let path = "/audit_logs/audit-logs/actions?undoableOnly=true&pageSize=100";
    let (status, undoable) = fixture.app.get(&fixture.root, path).await;
    assert_eq!(status, 200, "{undoable}");
    assert!(!undoable.to_string().contains("auth.user.update"), "{undoable}");
}

#[actix_web::test]
async fn acc_16_one_caller_who_sets_many_passwords_leaves_queue_positions_for_others() {
    // A hash takes so long that requests which are sent together meet in the queue.
    let fixture = Fixture::replacing("memory_kib = 8", "memory_kib = 65536\nthreads = 1").await;
    let users = (0..40).map(|number| {
        let email = format!("user{number}@alpha.test");
        let body = json!({"email": email, "password": "a long password", "organizationId": fixture.a.organization});
        let request = fixture.app.request(Method::POST, "/auth/users");
        request.bearer(&fixture.a.token).json(&body).send()
    });
    let others = async { sign_in(&fixture, "admin@beta.test", PASSWORD).await };

    let (responses, signed_in) = join(join_all(users), others).await;

    assert_eq!(signed_in, 200);
    let (created, rejected): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status == 201);
    assert!(created.len() >= 4, "{}", created.len());
    assert!(!rejected.is_empty(), "the queue has a position for each of them");
    for response in rejected {
        assert_eq!(
            (response.status, response.header("retry-after").as_deref()),
            (429, Some("1"))
        );
    }
    let (status, body) = create(&fixture, "last@alpha.test", "a long password").await;
    assert_eq!(status, 201, "{body}");
}
