//! No secret is stored or logged outside of its column.

use backoffice_test_support::{Logs, UndoableWrite};
use serde_json::{Value, json};

use crate::call::Call;
use crate::fixture::{Fixture, PASSWORD, sign_in, text};
use crate::history::{ACTIONS, entries};
use crate::scenarios::{rich, scenarios};

const NEW_PASSWORD: &str = "a password nobody has seen";

#[actix_web::test]
async fn aud_16_a_password_and_its_hash_occur_nowhere_but_in_their_column() {
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let fixture = Fixture::new().await;
    let (app, tenant_admin, colleague) = (&fixture.app, &fixture.a.tenant_admin, &fixture.a.colleague);

    let body = json!({"id": colleague.id, "password": NEW_PASSWORD});
    let response = Call::put("/auth/users", body).send(app, &tenant_admin.token).await;

    assert_eq!((response.status, response.operation()), (200, None));
    let entry = entries(app, tenant_admin, "actionType=edit").await.remove(0);
    assert_eq!(entry["undoToken"], Value::Null);
    assert_eq!(
        entry["changes"]["passwordHash"],
        json!({"from": null, "to": null, "redacted": true})
    );
    let fresh = sign_in(app, &colleague.email, NEW_PASSWORD).await;
    let hashes = app
        .rows("select password_hash as hash from auth_users where password_hash is not null")
        .await;
    let mut secrets: Vec<String> = hashes.iter().map(|row| text(&row["hash"])).collect();
    secrets.extend(
        [
            PASSWORD,
            NEW_PASSWORD,
            &fresh.token,
            &fresh.refresh_token,
            &tenant_admin.token,
        ]
        .map(str::to_owned),
    );
    let snapshot = app.snapshot_without(&[], &["password_hash"]).await;
    let (_, list) = app.get(&tenant_admin.token, &format!("{ACTIONS}?limit=1000")).await;
    let places = [
        ("the tables", json!(snapshot).to_string()),
        ("the response", response.text()),
        ("the response of the log", list.to_string()),
        ("the process log", logs.text()),
    ];
    for (place, content) in &places {
        for secret in &secrets {
            assert!(!content.contains(secret.as_str()), "{secret} occurs in {place}");
        }
    }
    assert!(places[3].1.contains("PUT"), "the process log was captured");
}

#[actix_web::test]
async fn aud_16_an_undo_token_is_in_no_process_log_and_no_event() {
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let fixture = Fixture::new().await;
    let done = super::rename(&fixture, &fixture.a.tenant_admin, fixture.a.role, "Renamed").await;

    fixture.app.undo(&fixture.a.tenant_admin.token, &done).await;

    let secret = done.token.split('.').nth(1).expect("a secret half");
    assert!(!logs.text().contains(secret));
    assert!(!json!(fixture.app.snapshot().await).to_string().contains(secret));
}

#[actix_web::test]
async fn a_run_of_all_commands_leaves_no_secret_in_any_row_or_log_line() {
    let logs = Logs::default();
    let writer = logs.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let fixture = rich(Fixture::new().await).await;
    let (app, tenant_admin) = (&fixture.app, &fixture.a.tenant_admin);
    let mut tokens = vec![tenant_admin.token.clone(), tenant_admin.refresh_token.clone()];
    for (number, scenario) in scenarios().iter().enumerate() {
        let call = (scenario.call)(&fixture.a);
        let request = call
            .request(app, &tenant_admin.token)
            .header("Idempotency-Key", &format!("run-{number}"));
        let response = request.send().await;
        assert!(response.status < 300, "{call}: {}", response.text());
        let done = response.undoable_write();
        tokens.push(text(&json!(done.token.split('.').nth(1))));
        app.undo(&tenant_admin.token, &done).await;
        let (status, redone) = app.redo(&tenant_admin.token, &done).await;
        assert_eq!(status, 200, "{call}: {redone}");
        let redone = UndoableWrite {
            token: text(&redone["undoToken"]),
            ..done
        };
        assert_eq!(app.undo(&tenant_admin.token, redone).await.0, 200);
    }
    for (number, path) in ["/auth/users", "/auth/users"].iter().enumerate() {
        let created = json!({"email": format!("made-{number}@alpha.test"), "organizationId": fixture.a.child, "password": NEW_PASSWORD});
        let request = Call::post(path, created)
            .request(app, &tenant_admin.token)
            .header("Idempotency-Key", &format!("made-{number}"));
        assert_eq!(request.send().await.status, 201);
    }
    let changed = json!({"password": "yet another password", "currentPassword": PASSWORD});
    assert_eq!(app.put(&tenant_admin.token, "/auth/profile", changed).await.0, 200);
    tokens.push(sign_in(app, "made-0@alpha.test", NEW_PASSWORD).await.refresh_token);

    let mut secrets = vec![
        PASSWORD.to_owned(),
        NEW_PASSWORD.to_owned(),
        "yet another password".to_owned(),
    ];
    let mut snapshot = app.snapshot().await;
    for (table, rows) in &mut snapshot {
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            let hashes: Vec<String> = row.keys().filter(|name| name.ends_with("_hash")).cloned().collect();
            secrets.extend(
                hashes
                    .iter()
                    .filter_map(|name| row.remove(name))
                    .filter_map(|hash| hash.as_str().map(str::to_owned)),
            );
            if table == "audit_action_logs" {
                // Its own column; the undo token itself is part of the stored response of an idempotent request.
                row.remove("undo_secret");
            }
            if table == "core_idempotency_keys" {
                row.remove("headers");
            }
        }
    }
    assert!(secrets.len() > 20 && tokens.len() > 10, "there was something to find");
    for (place, content) in [
        ("a table", json!(snapshot).to_string()),
        ("the process log", logs.text()),
    ] {
        for secret in secrets.iter().chain(&tokens) {
            let secret = secret.trim_start_matches("\\x");
            assert!(!content.contains(secret), "{secret} occurs in {place}");
        }
    }
}
