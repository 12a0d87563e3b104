//! The action log over HTTP, by the scenarios of the audit specification; the tests carry their numbers.

mod access;
mod deleted_organizations;
mod edits;
mod erasure;
mod export;
mod failed;
mod interceptors;
mod invariants;
mod keys;
mod lists;
mod model;
mod months;
mod reads;
mod restored;
mod scale;
mod secrets;
mod truncated;

use backoffice_test_support::UndoableWrite;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::call::Call;
use crate::fixture::{Account, Fixture};

/// Renames a role as this caller.
async fn rename(fixture: &Fixture, caller: &Account, role: Uuid, name: &str) -> UndoableWrite {
    let call = Call::put("/auth/roles", json!({"id": role, "name": name}));
    call.send(&fixture.app, &caller.token).await.undoable_write()
}

async fn name_of(fixture: &Fixture, role: Uuid) -> Value {
    let (status, body) = fixture
        .app
        .get(&fixture.a.tenant_admin.token, &format!("/auth/roles?id={role}"))
        .await;
    assert_eq!(status, 200, "{body}");
    body["items"][0]["name"].clone()
}

/// Returns the user as the list shows them; null if the user is missing.
async fn user(fixture: &Fixture, id: Uuid) -> Value {
    let (status, body) = fixture
        .app
        .get(&fixture.a.tenant_admin.token, &format!("/auth/users?id={id}"))
        .await;
    assert_eq!(status, 200, "{body}");
    body["items"][0].clone()
}
