//! The types of notifications, and their values.

use backoffice_calendar::Zone;
use backoffice_core::Timestamp;
use backoffice_core::command::EntityRef;
use backoffice_notifications::{Channels, New, NotificationType, TypeTexts};
use uuid::Uuid;

use crate::model::ASSIGNMENT;

/// A worker was given an assignment.
pub(super) const ASSIGNED: NotificationType = NotificationType {
    id: "dispatch.assignment.assigned",
    channels: Channels::USUAL,
    texts: &[
        texts("en", "New assignments", "New assignment: {site}", "Starts {start:date}"),
        texts(
            "pl",
            "Nowe przydziały",
            "Nowy przydział: {site}",
            "Początek: {start:date}",
        ),
        texts(
            "es",
            "Asignaciones nuevas",
            "Nueva asignación: {site}",
            "Empieza: {start:date}",
        ),
        texts("de", "Neue Einsätze", "Neuer Einsatz: {site}", "Beginn: {start:date}"),
    ],
    values: &[],
};

/// An assignment has another time or job site.
pub(super) const CHANGED: NotificationType = NotificationType {
    id: "dispatch.assignment.changed",
    channels: Channels::USUAL,
    texts: &[
        texts(
            "en",
            "Changed assignments",
            "Changed assignment: {site}",
            "Starts {start:date}",
        ),
        texts(
            "pl",
            "Zmienione przydziały",
            "Zmieniony przydział: {site}",
            "Początek: {start:date}",
        ),
        texts(
            "es",
            "Asignaciones modificadas",
            "Asignación modificada: {site}",
            "Empieza: {start:date}",
        ),
        texts(
            "de",
            "Geänderte Einsätze",
            "Geänderter Einsatz: {site}",
            "Beginn: {start:date}",
        ),
    ],
    values: &[],
};

/// A worker no longer has an assignment.
pub(super) const CANCELLED: NotificationType = NotificationType {
    id: "dispatch.assignment.cancelled",
    channels: Channels::USUAL,
    texts: &[
        texts(
            "en",
            "Cancelled assignments",
            "Cancelled assignment: {site}",
            "Would have started {start:date}",
        ),
        texts(
            "pl",
            "Odwołane przydziały",
            "Odwołany przydział: {site}",
            "Planowany początek: {start:date}",
        ),
        texts(
            "es",
            "Asignaciones canceladas",
            "Asignación cancelada: {site}",
            "Habría empezado: {start:date}",
        ),
        texts(
            "de",
            "Abgesagte Einsätze",
            "Abgesagter Einsatz: {site}",
            "Geplanter Beginn: {start:date}",
        ),
    ],
    values: &[],
};

/// An assignment starts soon.
pub(super) const REMINDER: NotificationType = NotificationType {
    id: "dispatch.assignment.reminder",
    channels: Channels::USUAL,
    texts: &[
        texts("en", "Reminders of assignments", "Soon: {site}", "Starts {start:date}"),
        texts(
            "pl",
            "Przypomnienia o przydziałach",
            "Wkrótce: {site}",
            "Początek: {start:date}",
        ),
        texts(
            "es",
            "Recordatorios de asignaciones",
            "Pronto: {site}",
            "Empieza: {start:date}",
        ),
        texts("de", "Erinnerungen an Einsätze", "Bald: {site}", "Beginn: {start:date}"),
    ],
    values: &[],
};

const fn texts(locale: &'static str, name: &'static str, title: &'static str, body: &'static str) -> TypeTexts {
    TypeTexts {
        locale,
        name,
        title,
        body,
    }
}

/// What a notification is about.
#[derive(Debug)]
pub(super) struct About {
    pub(super) assignment: Uuid,
    pub(super) organization: Uuid,
    pub(super) recipient: Uuid,
    pub(super) site: String,
    pub(super) start: String,
}

impl About {
    /// Creates the notification. Notifications of a type about the same assignment are one.
    pub(super) fn notification(self, notification_type: NotificationType) -> New {
        New {
            organization: Some(self.organization),
            source: Some(EntityRef {
                kind: ASSIGNMENT,
                id: self.assignment,
            }),
            group_key: Some(self.assignment.to_string()),
            ..New::of(notification_type, self.recipient)
        }
        .with("site", self.site)
        .with("start", self.start)
    }
}

/// Writes an instant as the local time of a zone: `2026-01-06 09:00`.
pub(super) fn local_time(zone: &Zone, at: Timestamp) -> String {
    let local = zone.local_time(at);
    format!("{} {:02}:{:02}", local.date(), local.hour(), local.minute())
}
