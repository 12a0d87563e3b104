//! Texts that the API document describes.

use backoffice_core::input::schema;

backoffice_core::text_schemas! {
    /// What an action does to its resource.
    AuditActionType: schema::words(["create", "edit", "delete", "assign"]);
    /// State of an action: undone and redone actions have further entries.
    AuditExecutionState: schema::words(["done", "undone", "redone", "failed"]);
    /// Where an action comes from.
    AuditSource: schema::words(["ui", "api_key", "system", "job", "undo", "redo"]);
    /// Who acted.
    AuditActorKind: schema::words(["user", "api_key", "system"]);
    /// How a record was read.
    AuditAccessType: schema::words(["read:list", "read:item", "download", "export"]);
}
