//! API keys on the command line.

use serde_json::{Value, json};

use crate::office::office;
use crate::support::text;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_made_and_revoked() {
    let (office, database) = office().await;
    let create = ["api-key", "create", "--name", "Nightly import", "--role", "admin"];

    let made = office.run(&[&create[..], &["--expires", "2199-01-01T00:00:00Z", "--json"]].concat());

    let made: Value = serde_json::from_str(&text(&made)).expect("JSON");
    let secret = made["secret"].as_str().expect("a key");
    assert_eq!(secret.len(), 55);
    let stored = database
        .rows("select key_prefix, created_by_kind, deleted_at from api_keys_keys")
        .await;
    assert_eq!(
        stored,
        [json!({"key_prefix": &secret[..11], "created_by_kind": "system", "deleted_at": null})]
    );
    let id = made["id"].as_str().expect("an id");
    text(&office.run(&["api-key", "revoke", id]));
    let live = database
        .rows("select 1 from api_keys_keys where deleted_at is null")
        .await;
    assert!(live.is_empty());
    assert!(office.refused(&["api-key", "revoke", id]).contains("API key not found"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_api_refuses_is_refused_here_too() {
    let (office, _database) = office().await;
    let refused = |more: &[&str]| office.refused(&[&["api-key", "create", "--name", "K"], more].concat());

    assert!(refused(&["--role", "nobody"]).contains("Role(s) not found"));
    assert!(refused(&["--role", "superadmin"]).contains("Super administrator roles"));
    assert!(refused(&["--expires", "2001-01-01T00:00:00Z"]).contains("Invalid input"));
    assert!(refused(&["--expires", "soon"]).contains("write an instant"));
}
