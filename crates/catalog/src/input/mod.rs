//! What clients send to make or change a row. One type serves both: making takes the members that are given over into a blank row, a
//! change takes them over into the row that is there.

mod category;
mod price;
mod product;
mod variant;

use backoffice_core::Result;
use uuid::Uuid;

use crate::Error;

pub use category::CategoryInput;
pub use price::PriceInput;
pub use product::ProductInput;
pub use variant::VariantInput;

pub(crate) use price::KINDS as PRICE_KINDS;
pub(crate) use product::TYPES as PRODUCT_TYPES;

/// Refuses to give something that is settled another value.
fn stays(path: &'static str, given: Option<Uuid>, present: Uuid) -> Result<()> {
    match given {
        Some(given) if given != present => Err(Error::Fixed { path }.into()),
        _ => Ok(()),
    }
}
