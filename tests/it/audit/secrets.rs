//! No secret leaves its column.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::call::Call;
use crate::history::{ACTIONS, entries};
use crate::world::{PASSWORD, World, sign_in, text};

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
    let world = World::new().await;
    let (app, keeper, colleague) = (&world.app, &world.a.keeper, &world.a.colleague);

    let body = json!({"id": colleague.id, "password": NEW_PASSWORD});
    let response = Call::put("/auth/users", body).send(app, &keeper.token).await;

    assert_eq!((response.status, response.operation()), (200, None));
    let entry = entries(app, keeper, "actionType=edit").await.remove(0);
    assert_eq!(entry["undoToken"], Value::Null);
    assert_eq!(
        entry["changes"]["passwordHash"],
        json!({"from": null, "to": null, "redacted": true})
    );
    let fresh = sign_in(app, &colleague.email, NEW_PASSWORD).await;
    let hashes = app.rows("select password_hash as hash from auth_users").await;
    let mut secrets: Vec<String> = hashes.iter().map(|row| text(&row["hash"])).collect();
    secrets.extend(
        [
            PASSWORD,
            NEW_PASSWORD,
            &fresh.token,
            &fresh.refresh_token,
            &keeper.token,
        ]
        .map(str::to_owned),
    );
    let image = app.image_without(&[], &["password_hash"]).await;
    let (_, list) = app.get(&keeper.token, &format!("{ACTIONS}?limit=1000")).await;
    let places = [
        ("the tables", json!(image).to_string()),
        ("the answer", response.text()),
        ("the log's answer", list.to_string()),
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
    let world = World::new().await;
    let done = super::rename(&world, &world.a.keeper, world.a.role, "Renamed").await;

    crate::history::undo(&world.app, &world.a.keeper, &done.token).await;

    let secret = done.token.split('.').nth(1).expect("a secret half");
    assert!(!logs.text().contains(secret));
    assert!(!json!(world.app.image().await).to_string().contains(secret));
}

/// What the process writes to its log.
#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("nobody panicked")).into_owned()
    }
}

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
