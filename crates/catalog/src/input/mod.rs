//! The bodies of creations and updates. One type serves both: a creation writes the given fields into a blank row, an update
//! into the existing row.

mod price;
mod product;
mod variant;

use backoffice_core::Result;
use uuid::Uuid;

use crate::Error;

pub use price::PriceInput;
pub use product::ProductInput;
pub use variant::VariantInput;

pub(crate) use price::KINDS as PRICE_KINDS;
pub(crate) use product::TYPES as PRODUCT_TYPES;

/// Rejects another value for a field that can't be changed.
fn stays(path: &'static str, given: Option<Uuid>, present: Uuid) -> Result<()> {
    match given {
        Some(given) if given != present => Err(Error::Fixed { path }.into()),
        _ => Ok(()),
    }
}
