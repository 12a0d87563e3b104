//! The writes that a client knows, and their counterparts in the log.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Create,
    Rename,
    Undo,
    Redo,
}

/// A write as its client knows it; the id is that of its log entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) id: String,
    pub(super) what: What,
    pub(super) role: String,
    /// The role's name after the write.
    pub(super) name: String,
}

/// A role as its client knows it.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) id: String,
    pub(super) name: String,
    /// The undo of the last rename: entry, token, previous name.
    pub(super) undo: Option<(String, String, String)>,
    /// The redo of the rename that was just undone: entry, name after it.
    pub(super) redo: Option<(String, String)>,
}

pub(super) fn write_of(row: &Value) -> Write {
    let what = match (row["history_action"].as_str(), row["command_id"].as_str()) {
        (Some("undo"), _) => What::Undo,
        (Some("redo"), _) => What::Redo,
        (_, Some("auth.role.create")) => What::Create,
        _ => What::Rename,
    };
    Write {
        id: string(&row["id"]),
        what,
        role: string(&row["resource_id"]),
        name: string(&row["name"]),
    }
}

pub(super) fn string(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is not a string"))
        .to_owned()
}
