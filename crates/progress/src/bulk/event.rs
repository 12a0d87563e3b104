//! What jobs announce. Who asked for a job is told of it whatever rights it holds.

use backoffice_core::events::Event;
use uuid::Uuid;

use crate::acl;
use crate::model::{KIND, Status};

/// The event of a job that came to stand here.
pub(crate) fn event_name(status: Status) -> String {
    format!("{KIND}.{}", status.verb())
}

/// Shown to those who see everybody's jobs, and to the one who asked.
pub(crate) fn shown(event: Event, actor: Option<Uuid>) -> Event {
    let event = event.shown_to(acl::VIEW_TENANT);
    match actor {
        Some(actor) => event.for_principal(actor),
        None => event,
    }
}
