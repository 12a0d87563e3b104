//! The commands of this module.

mod category;
mod create_product;
mod price;
mod product;
mod references;
mod variant;

pub use category::{CategoryInput, CreateCategory, DeleteCategory, UpdateCategory};
pub use create_product::CreateProduct;
pub use price::{CreatePrice, DeletePrice, PriceInput, UpdatePrice};
pub use product::{DeleteProduct, ProductInput, UpdateProduct};
pub use variant::{CreateVariant, DeleteVariant, UpdateVariant, VariantInput};
