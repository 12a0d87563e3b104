//! How a key is presented, and when it ends.

use actix_web::http::Method;
use backoffice_test_accounts::ORGANIZATIONS;
use serde_json::{Value, json};
use time::Duration;
use uuid::Uuid;

use crate::fixture::{Fixture, KEYS, Key};

#[actix_web::test]
async fn acc_34_what_ends_a_key_ends_it_at_once() {
    let fixture = Fixture::new().await;
    fixture.app.start_background();
    fixture.app.poll_revocations().await;
    let office = fixture.organization("Office", None).await;
    let create = async |body: Value| {
        let key = fixture.key(body).await;
        assert_eq!(fixture.get(&key, KEYS).await.0, 200);
        assert_eq!(fixture.get(&key, KEYS).await.0, 200, "from the cache");
        key
    };
    let revoked = create(json!({"name": "Revoked", "roles": ["admin"]})).await;
    let expires_at = fixture.app.now().after(Duration::minutes(5));
    let expiring = create(json!({"name": "Expiring", "roles": ["admin"], "expiresAt": expires_at})).await;
    let closed = create(json!({"name": "Closed", "roles": ["admin"], "organizationId": office})).await;

    let path = format!("{KEYS}?id={}", revoked.id);
    let (status, body) = fixture.app.delete(&fixture.a.token, &path, Value::Null).await;
    assert_eq!((status, body), (200, json!({"success": true})));
    assert_eq!(
        fixture.get(&revoked, KEYS).await,
        (401, json!({"error": "Unauthorized"}))
    );
    assert_eq!(fixture.app.delete(&fixture.a.token, &path, Value::Null).await.0, 404);

    let change = json!({"id": office, "isActive": false});
    assert_eq!(fixture.app.put(&fixture.a.token, ORGANIZATIONS, change).await.0, 200);
    assert_eq!(fixture.get(&closed, KEYS).await.0, 401);

    assert_eq!(fixture.get(&expiring, KEYS).await.0, 200);
    fixture.app.advance(Duration::minutes(5));
    assert_eq!(fixture.get(&expiring, KEYS).await.0, 401);
}

#[actix_web::test]
async fn a_key_is_presented_in_either_header() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;
    let other = Key {
        secret: format!("{}{}", &key.secret[..12], "A".repeat(43)),
        ..key
    };

    let by_scheme = fixture.app.request(Method::GET, KEYS);
    let by_scheme = by_scheme
        .header("Authorization", &format!("ApiKey {}", key.secret))
        .send()
        .await;
    assert_eq!(by_scheme.status, 200);
    assert_eq!(fixture.get(&key, KEYS).await.0, 200);
    assert_eq!(fixture.get(&other, KEYS).await.0, 401, "the prefix alone opens nothing");
    let unknown = Key {
        id: Uuid::nil(),
        secret: "bo_00000000_nonsense".to_owned(),
    };
    assert_eq!(fixture.get(&unknown, KEYS).await.0, 401);
}

#[actix_web::test]
async fn a_bearer_token_comes_before_the_cookie_and_the_cookie_before_a_key() {
    let fixture = Fixture::new().await;
    let key = fixture.key(json!({"name": "K", "roles": ["admin"]})).await;
    let (good, dead) = (fixture.a.token.as_str(), "garbage");
    let bearer = |token: &str| format!("Bearer {token}");
    let by_key = format!("ApiKey {}", key.secret);

    for (authorization, cookie, header, expected) in [
        // A credential of an unknown scheme counts as none.
        (Some("Basic dXNlcjpwYXNz".to_owned()), Some(good), None, "user"),
        (
            Some("Basic dXNlcjpwYXNz".to_owned()),
            None,
            Some(key.secret.as_str()),
            "key",
        ),
        (Some("Negotiate".to_owned()), Some(good), None, "user"),
        (Some(by_key.clone()), Some(good), None, "user"),
        (Some(by_key.clone()), Some(dead), None, "cleared"),
        (Some(by_key.clone()), None, Some(dead), "cleared"),
        (Some(by_key), Some(""), None, "key"),
        (Some(bearer(good)), Some(dead), Some(dead), "user"),
        (Some(bearer(dead)), Some(good), Some(key.secret.as_str()), "cleared"),
        (Some("bearer".to_owned()), Some(good), None, "cleared"),
        (None, Some(good), Some(dead), "user"),
        (None, Some(dead), Some(key.secret.as_str()), "cleared"),
        (Some("Basic dXNlcjpwYXNz".to_owned()), None, None, "nothing"),
    ] {
        let mut request = fixture
            .app
            .request(Method::POST, "/auth/feature-check")
            .json(&json!({"features": []}));
        if let Some(value) = &authorization {
            request = request.header("authorization", value);
        }
        if let Some(value) = cookie {
            request = request
                .header("sec-fetch-site", "same-origin")
                .cookie("auth_token", value);
        }
        if let Some(value) = header {
            request = request.header("x-api-key", value);
        }
        let response = request.send().await;

        let reported = match response.status {
            200 if response.json()["userId"] == json!(key.id) => "key",
            200 if response.json()["userId"] == json!(fixture.a.admin) => "user",
            401 if response.cookie("auth_token").is_some() => "cleared",
            401 => "nothing",
            _ => "something else",
        };
        assert_eq!(
            reported,
            expected,
            "{authorization:?}, {cookie:?}, {header:?}: {}",
            response.text()
        );
    }
}

#[actix_web::test]
async fn under_a_maximum_a_key_without_an_expiry_ends_with_the_key_that_creates_it() {
    let fixture = Fixture::with_config("[api_keys]\nmax_ttl = '30d'\n").await;
    let in_days = |days: i64| fixture.app.now().after(Duration::days(days));
    let expires_at = in_days(7);
    let key = fixture
        .key(json!({"name": "K", "roles": ["admin"], "expiresAt": expires_at}))
        .await;
    let post = async |body: Value| {
        let request = fixture.app.request(Method::POST, KEYS).header("X-Api-Key", &key.secret);
        let response = request.json(&body).send().await;
        (response.status, response.json())
    };

    for body in [json!({"name": "Child"}), json!({"name": "Child", "expiresAt": null})] {
        let (status, created) = post(body).await;
        assert_eq!((status, &created["expiresAt"]), (201, &json!(expires_at)), "{created}");
    }
    for beyond in [in_days(8), in_days(31)] {
        let (status, body) = post(json!({"name": "Child", "expiresAt": beyond})).await;
        assert_eq!(
            (status, &body["details"][0]["path"]),
            (400, &json!("expiresAt")),
            "{body}"
        );
    }
    let without_end = "update api_keys_keys set expires_at = null where name = 'K'";
    fixture.app.sql(without_end).await;
    let (status, body) = post(json!({"name": "Child"})).await;
    assert_eq!(
        (status, &body["details"][0]["code"]),
        (400, &json!("required")),
        "{body}"
    );
    let late = format!(
        "update api_keys_keys set expires_at = '{}' where name = 'K'",
        in_days(31)
    );
    fixture.app.sql(&late).await;
    let (status, body) = post(json!({"name": "Child"})).await;
    assert_eq!(
        (status, &body["details"][0]["code"]),
        (400, &json!("out_of_range")),
        "{body}"
    );
}
