//! The undoable write of a request, as its response announces it.

use serde::Serialize;
use uuid::Uuid;

use crate::time::Timestamp;

/// The header `X-Operation` of an undoable write.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// Id of the log entry.
    pub id: Uuid,
    /// Token that undoes it.
    pub undo_token: String,
    /// The command.
    pub command_id: &'static str,
    /// Label of the command.
    pub action_label: String,
    /// Kind of the resource.
    pub resource_kind: &'static str,
    /// Id of the resource.
    pub resource_id: String,
    /// Time of execution.
    pub executed_at: Timestamp,
}

impl Operation {
    /// Returns URL-encoded JSON.
    #[must_use]
    pub fn to_header(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        url::form_urlencoded::byte_serialize(json.as_bytes())
            .collect::<String>()
            .replace('+', "%20")
    }
}
