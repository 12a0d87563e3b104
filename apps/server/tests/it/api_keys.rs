//! API keys on the command line.

use serde_json::{Value, json};

use crate::office::office;
use crate::support::text;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_created_and_revoked() {
    let (office, database) = office().await;
    let create = ["api-key", "create", "--name", "Nightly import", "--role", "admin"];

    let created = office.run(&[&create[..], &["--expires", "2199-01-01T00:00:00Z", "--json"]].concat());

    let created: Value = serde_json::from_str(&text(&created)).expect("JSON");
    let secret = created["secret"].as_str().expect("a key");
    assert_eq!(secret.len(), 55);
    let stored = database
        .rows("select key_prefix, created_by_kind, deleted_at from api_keys_keys")
        .await;
    assert_eq!(
        stored,
        [json!({"key_prefix": &secret[..11], "created_by_kind": "system", "deleted_at": null})]
    );
    let id = created["id"].as_str().expect("an id");
    text(&office.run(&["api-key", "revoke", id]));
    let live = database
        .rows("select 1 from api_keys_keys where deleted_at is null")
        .await;
    assert!(live.is_empty());
    assert!(
        office
            .rejected(&["api-key", "revoke", id])
            .contains("API key not found")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_rejects_the_same_values_as_the_api() {
    let (office, _database) = office().await;
    let rejected = |more: &[&str]| office.rejected(&[&["api-key", "create", "--name", "K"], more].concat());

    assert!(rejected(&["--role", "nobody"]).contains("Role(s) not found"));
    assert!(rejected(&["--role", "superadmin"]).contains("Super administrator roles"));
    assert!(rejected(&["--expires", "2001-01-01T00:00:00Z"]).contains("Invalid input"));
    assert!(rejected(&["--expires", "soon"]).contains("must be an instant; expected for example"));
}
