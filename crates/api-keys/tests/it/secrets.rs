//! A credential appears in the response or mail to its owner, and nowhere else.

use actix_web::http::Method;
use backoffice_test_support::Logs;
use serde_json::{Value, json};

use crate::fixture::{Fixture, KEYS, PASSWORD};

const NEW_PASSWORD: &str = "a password nobody has seen";
const SITE: &str = "[app]\npublic_url = \"https://office.example\"\n";

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// The token in the link of the only mail.
fn mailed(fixture: &Fixture) -> String {
    let mails = fixture.app.mail().take();
    assert_eq!(mails.len(), 1);
    let (_, rest) = mails[0].text.split_once("#token=").expect("a link");
    rest.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
        .collect()
}

/// Creates one credential of each kind, uses it, and returns it.
async fn credentials(fixture: &Fixture) -> Vec<String> {
    let admin = &fixture.a.token;
    let create = || {
        let request = fixture.app.request(Method::POST, KEYS).bearer(admin);
        let request = request.header("idempotency-key", "make");
        request.json(&json!({"name": "K", "roles": ["admin"]})).send()
    };
    let key = text(&create().await.json()["secret"]);
    assert_eq!(create().await.json()["secret"], Value::Null, "a replay has no secret");
    let by_key = fixture
        .app
        .request(Method::GET, "/auth/users")
        .header("x-api-key", &key);
    assert_eq!(by_key.send().await.status, 200);

    let login = json!({"email": "admin@beta.test", "password": PASSWORD});
    let (_, session) = fixture.app.post("", "/auth/login", login).await;
    let (token, refresh) = (text(&session["token"]), text(&session["refreshToken"]));
    let (_, fresh) = fixture
        .app
        .post("", "/auth/session/refresh", json!({"refreshToken": refresh}))
        .await;
    let cookie = fixture
        .app
        .request(Method::POST, "/auth/logout")
        .header("sec-fetch-site", "same-origin")
        .cookie("auth_token", &token);
    assert_eq!(cookie.cookie("session_token", &refresh).send().await.status, 302);

    let new = json!({"email": "ann@alpha.test", "organizationId": fixture.a.organization});
    assert_eq!(fixture.app.post(admin, "/auth/users", new).await.0, 201);
    let invitation = mailed(fixture);
    let reset = json!({"email": "admin@beta.test"});
    assert_eq!(fixture.app.post("", "/auth/reset", reset).await.0, 200);
    fixture.app.run_jobs().await;
    let reset = mailed(fixture);
    for token in [&invitation, &reset] {
        let (_, valid) = fixture
            .app
            .post("", "/auth/reset/validate", json!({"token": token}))
            .await;
        assert_eq!(valid["valid"], true);
    }
    let confirm = json!({"token": reset, "password": NEW_PASSWORD});
    assert_eq!(fixture.app.post("", "/auth/reset/confirm", confirm).await.0, 200);
    let random_part = key.rsplit('_').next().expect("a part").to_owned();
    let passwords = [PASSWORD, NEW_PASSWORD].map(str::to_owned);
    [
        random_part,
        token,
        text(&fresh["accessToken"]),
        refresh,
        invitation,
        reset,
    ]
    .into_iter()
    .chain(passwords)
    .collect()
}

#[actix_web::test]
async fn acc_33_acc_34_credentials_and_their_hashes_are_in_no_other_column_response_or_log_line() {
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let fixture = Fixture::with_config(SITE).await;
    let secrets = credentials(&fixture).await;

    let mut responses = String::new();
    for path in [
        "/audit_logs/audit-logs/actions?limit=1000",
        "/audit_logs/audit-logs/access?pageSize=100",
        "/auth/users",
        "/auth/profile",
        KEYS,
    ] {
        let (status, response) = fixture.app.get(&fixture.root, path).await;
        assert!(status == 200 || path == KEYS, "{path}: {response}");
        responses += &response.to_string();
        responses += &fixture.app.get(&fixture.a.token, path).await.1.to_string();
    }
    let mut snapshot = fixture.app.snapshot().await;
    let mut hashes = Vec::new();
    for row in snapshot.values_mut().flatten().filter_map(Value::as_object_mut) {
        let columns: Vec<String> = row.keys().filter(|name| name.ends_with("_hash")).cloned().collect();
        let removed = columns.iter().filter_map(|name| row.remove(name));
        hashes.extend(removed.filter_map(|hash| hash.as_str().map(str::to_owned)));
    }

    assert!(hashes.len() > 8 && responses.contains("api_keys.key.create"));
    let logs = logs.text();
    assert!(logs.contains("/auth/login"), "the process log was captured");
    for (place, content) in [
        ("a table", json!(snapshot).to_string()),
        ("a response", responses),
        ("the log", logs),
    ] {
        for secret in secrets.iter().chain(&hashes) {
            let secret = secret.trim_start_matches("\\x");
            assert!(!content.contains(secret), "{secret} occurs in {place}");
        }
    }
}
