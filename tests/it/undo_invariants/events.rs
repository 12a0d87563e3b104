//! The events of a command, of its undo and of its redo.

use backoffice_core::command::{Class, CommandInfo};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::fixture::{Fixture, text};

/// What has written an entry of the log.
#[derive(Debug, Clone, Copy)]
pub(super) enum EntryWriter {
    /// The command.
    Command,
    /// The undo of this entry.
    Undo(Uuid),
    /// The redo of this entry.
    Redo(Uuid),
}

impl EntryWriter {
    /// Returns the mark of the events, the event about the undone or redone entry, and this entry.
    const fn history(self) -> Option<(&'static str, &'static str, Uuid)> {
        match self {
            Self::Command => None,
            Self::Undo(entry) => Some(("undo", "audit_logs.action.undone", entry)),
            Self::Redo(entry) => Some(("redo", "audit_logs.action.redone", entry)),
        }
    }
}

/// An execution of a command whose events are checked.
pub(super) struct AnnouncedChange<'a> {
    pub(super) fixture: &'a Fixture,
    pub(super) command: CommandInfo,
    pub(super) resource: Uuid,
    /// What messages say about it.
    pub(super) what: &'a str,
}

impl AnnouncedChange<'_> {
    /// Checks the events of an entry: one is about the resource; those of an undo or redo are marked, and one more is about the entry that it was
    /// about.
    pub(super) async fn check(&self, log_id: Uuid, writer: EntryWriter) {
        let what = format!("{}, {writer:?}", self.what);
        let sql = format!("select name, payload from core_outbox_events where log_id = '{log_id}' order by seq");
        let events = self.fixture.app.rows(&sql).await;
        let (about_log, others): (Vec<&Value>, Vec<&Value>) = events
            .iter()
            .partition(|event| text(&event["name"]).starts_with("audit_logs.action."));

        let names = ["created", "updated", "deleted"].map(|verb| self.name(verb));
        let about_resource = others
            .iter()
            .filter(|event| event["payload"]["id"] == json!(self.resource));
        let changes: Vec<String> = about_resource
            .map(|event| text(&event["name"]))
            .filter(|name| names.contains(name))
            .collect();
        assert_eq!(changes, [self.name(self.verb(writer))], "{what}: {events:#?}");
        for event in &others {
            self.check_offered(&text(&event["name"]));
            for mark in ["undo", "redo"] {
                let is_marked = writer.history().is_some_and(|(own, ..)| own == mark);
                let expected = if is_marked { json!(true) } else { Value::Null };
                assert_eq!(event["payload"][mark], expected, "{what}: {mark} of {event:#}");
            }
        }
        let reported: Vec<Value> = about_log
            .iter()
            .map(|event| of_log(&event["name"], &event["payload"]))
            .collect();
        assert_eq!(reported, self.expected_of_log(log_id, writer), "{what}");
    }

    /// Checks that the kind of an event offers it to business rules.
    fn check_offered(&self, name: &str) {
        let (kind, verb) = name.rsplit_once('.').expect("a kind and a verb");
        let offered = self.fixture.app.platform().record_kind(kind).is_none_or(|kind| {
            !kind.guardable || ["created", "updated", "deleted"].contains(&verb) || kind.events.contains(&verb)
        });
        assert!(offered, "{}: `events` of the kind lacks the verb of {name}", self.what);
    }

    fn name(&self, verb: &str) -> String {
        format!("{}.{verb}", self.command.kind)
    }

    fn verb(&self, writer: EntryWriter) -> &'static str {
        let is_undo = matches!(writer, EntryWriter::Undo(_));
        let creates = match self.command.class {
            Class::Edit | Class::Assign => return "updated",
            Class::Create => !is_undo,
            Class::Delete => is_undo,
        };
        if creates { "created" } else { "deleted" }
    }

    fn expected_of_log(&self, log_id: Uuid, writer: EntryWriter) -> Vec<Value> {
        let expected = writer.history().map(|(_, name, entry)| {
            let payload = json!({
                "id": log_id,
                "logId": entry,
                "resourceKind": self.command.kind,
                "resourceId": self.resource,
            });
            of_log(&json!(name), &payload)
        });
        expected.into_iter().collect()
    }
}

/// Returns what an event of the log says.
fn of_log(name: &Value, payload: &Value) -> Value {
    let fields = ["id", "logId", "resourceKind", "resourceId"].map(|field| payload[field].clone());
    json!({"name": name, "fields": fields})
}
