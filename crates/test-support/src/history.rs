//! Undo and redo over HTTP, in applications with the module `audit-logs`.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::{TestApp, TestResponse};

/// Path of the endpoint that undoes a write.
pub const UNDO: &str = "/audit_logs/audit-logs/actions/undo";
/// Path of the endpoint that redoes an undone write.
pub const REDO: &str = "/audit_logs/audit-logs/actions/redo";

/// What undo and redo need to know about an undoable write. It is read from the response of the write, or from its entry in the action log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoableWrite {
    /// The entry of the action log.
    pub log_id: Uuid,
    /// The undo token.
    pub token: String,
    /// The resource.
    pub resource: Uuid,
}

impl UndoableWrite {
    /// Reads the write from its entry in the action log, or from the decoded `X-Operation`.
    ///
    /// # Panics
    /// When an id is missing, or the write can't be undone.
    #[must_use]
    pub fn from_entry(entry: &Value) -> Self {
        let text = |field: &str| {
            entry[field]
                .as_str()
                .unwrap_or_else(|| panic!("no `{field}` in {entry}"))
        };
        let id = |field: &str| text(field).parse().expect("a UUID");
        Self {
            log_id: id("id"),
            token: text("undoToken").to_owned(),
            resource: id("resourceId"),
        }
    }
}

/// Panics when the response is not that of an undoable write.
impl From<&TestResponse> for UndoableWrite {
    fn from(response: &TestResponse) -> Self {
        response.undoable_write()
    }
}

impl From<&Self> for UndoableWrite {
    fn from(write: &Self) -> Self {
        write.clone()
    }
}

impl TestResponse {
    /// Returns the undoable write that the response is about.
    ///
    /// # Panics
    /// When the response has no `X-Operation`.
    #[must_use]
    pub fn undoable_write(&self) -> UndoableWrite {
        let operation = self.operation();
        let operation = operation.unwrap_or_else(|| panic!("no X-Operation: {} {}", self.status, self.text()));
        UndoableWrite::from_entry(&operation)
    }
}

impl TestApp {
    /// Undoes a write, given by its response or as [`UndoableWrite`]. Returns status and JSON.
    ///
    /// # Panics
    /// When the response is not that of an undoable write.
    pub async fn undo(&self, token: &str, write: impl Into<UndoableWrite>) -> (u16, Value) {
        self.post(token, UNDO, json!({"undoToken": write.into().token})).await
    }

    /// Redoes an undone write, given by the response of the write or as [`UndoableWrite`]. Returns status and JSON.
    ///
    /// # Panics
    /// When the response is not that of an undoable write.
    pub async fn redo(&self, token: &str, write: impl Into<UndoableWrite>) -> (u16, Value) {
        self.post(token, REDO, json!({"logId": write.into().log_id})).await
    }
}
