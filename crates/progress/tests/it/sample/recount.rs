//! Counts the things that a transaction has numbered, once at its end.

use backoffice_core::command::Tx;
use backoffice_core::events::Event;
use backoffice_core::{Rejection, Result};
use uuid::Uuid;

/// Things with this number are rejected by the work that was deferred for them.
const UNCOUNTABLE: i32 = 423;

/// A thing with another number than before.
pub(super) struct Numbered {
    pub(super) id: Uuid,
    pub(super) number: i32,
}

/// Announces the number of things, with a resource of its own.
pub(super) async fn recount(tx: &mut Tx<'_>, numbered: Vec<Numbered>) -> Result<()> {
    if numbered.iter().any(|one| one.number == UNCOUNTABLE) {
        return Err(Rejection::conflict("This number can't be counted").into());
    }
    let ids: Vec<String> = numbered.iter().map(|one| one.id.to_string()).collect();
    let event = Event::new("sample.count.changed", Uuid::nil());
    tx.emit(event.with("things", ids));
    Ok(())
}
