//! Events of alerts.

use backoffice_core::events::Event;
use serde_json::json;
use uuid::Uuid;

use crate::acl;
use crate::kinds::Kind;
use crate::recompute::{StoredAlert, WrittenAlert};

/// A new alert.
pub(crate) const OPENED: &str = "alerts.alert.opened";
/// An alert has changed; `grown` is true if an assignment joined, so that it counts as new.
pub(crate) const UPDATED: &str = "alerts.alert.updated";
/// The conflict of an alert does not exist any more.
pub(crate) const RESOLVED: &str = "alerts.alert.resolved";

/// What the events show of an alert.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) id: Uuid,
    pub(crate) organization: Uuid,
    pub(crate) kind: Kind,
    pub(crate) subject_type: String,
    pub(crate) subject_id: Uuid,
    pub(crate) assignments: Vec<Uuid>,
}

impl Announced {
    pub(crate) fn from_stored(alert: &StoredAlert) -> Self {
        let mut assignments = alert.open.assignments.clone();
        assignments.sort_unstable();
        Self {
            id: alert.open.id,
            organization: alert.organization,
            kind: alert.open.kind,
            subject_type: alert.subject_type.clone(),
            subject_id: alert.subject_id,
            assignments: assignments.iter().map(|one| one.id).collect(),
        }
    }

    pub(crate) fn from_written(alert: &WrittenAlert) -> Self {
        Self {
            id: alert.id,
            organization: alert.subject.organization,
            kind: alert.conflict.kind,
            subject_type: alert.subject.resource_type.as_str().to_owned(),
            subject_id: alert.subject.id,
            assignments: alert.conflict.assignments.iter().map(|one| one.id).collect(),
        }
    }

    fn event(&self, name: &str) -> Event {
        Event::new(name, self.id)
            .with("kind", self.kind.as_str())
            .with("urgency", self.kind.urgency().as_str())
            .with("subjectType", self.subject_type.clone())
            .with("subjectId", json!(self.subject_id))
            .with("conflictingAssignmentIds", json!(self.assignments))
            .in_organization(Some(self.organization))
            .shown_to(acl::VIEW)
    }
}

pub(crate) fn opened(alert: &Announced) -> Event {
    alert.event(OPENED)
}

pub(crate) fn grown(alert: &Announced) -> Event {
    alert.event(UPDATED).with("grown", true)
}

pub(crate) fn updated(alert: &Announced) -> Event {
    alert.event(UPDATED).with("grown", false)
}

pub(crate) fn resolved(alert: &Announced) -> Event {
    alert.event(RESOLVED)
}
