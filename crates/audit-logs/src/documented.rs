//! Texts that the API document describes.

use backoffice_core::access_log::AccessType;
use backoffice_core::command::Class;
use backoffice_core::identity::ActorKind;
use backoffice_core::input::schema;

backoffice_core::text_schemas! {
    /// What an action does to its resource.
    AuditActionType: schema::words(Class::ALL.map(Class::as_str));
    /// State of an action: undone and redone actions have further entries.
    AuditExecutionState: schema::words(["done", "undone", "redone", "failed"]);
    /// Where an action comes from.
    AuditSource: schema::words(["ui", "api_key", "system", "job", "undo", "redo"]);
    /// Who acted.
    AuditActorKind: schema::words(ActorKind::ALL.map(ActorKind::as_str));
    /// How a record was read.
    AuditAccessType: schema::words(AccessType::ALL.map(AccessType::as_str));
}
