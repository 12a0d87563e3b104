//! Background jobs: the mails, the creation of the tenant, and the erasure of ended requests.

mod erase_ended;
mod provision;
mod send_existing;
mod send_link;
mod send_ready;

pub(crate) use erase_ended::{EVERY as ERASE_EVERY, EraseEnded, SCHEDULE as ERASE_SCHEDULE};
pub(crate) use provision::Provision;
pub(crate) use send_existing::SendExisting;
pub(crate) use send_link::SendLink;
pub(crate) use send_ready::SendReady;

use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Call, Error, Result};
use secrecy::ExposeSecret;

use crate::model::EMAIL;
use crate::query::Stored;

/// Opens the address of a request; `None` if it was erased.
fn address(call: &Call, stored: &Stored) -> Result<Option<String>> {
    let Some(sealed) = &stored.email else {
        return Ok(None);
    };
    let place = EMAIL.of(stored.request.id);
    let opened = call.platform().vault().open(PLATFORM_TENANT, place, sealed)?;
    let address = String::from_utf8(opened.expose_secret().to_vec());
    address
        .map(Some)
        .map_err(|_| Error::internal("a sealed address is not a text"))
}
