//! Events of jobs. The requester of a job receives its events regardless of the requester's features.

use backoffice_core::events::Event;
use uuid::Uuid;

use crate::acl;
use crate::model::{KIND, Status};

/// Returns the name of the event for a job that reached this status.
pub(crate) fn event_name(status: Status) -> String {
    format!("{KIND}.{}", status.verb())
}

/// Makes an event visible to users with `progress.view_tenant` and to the requester.
pub(crate) fn shown(event: Event, actor: Option<Uuid>) -> Event {
    let event = event.shown_to(acl::VIEW_TENANT);
    match actor {
        Some(actor) => event.for_principal(actor),
        None => event,
    }
}
