//! The commands of this module. Updates and deletions are the same for every kind; creations differ.

mod category;
mod create_price;
mod create_product;
mod create_variant;
mod delete;
mod references;
mod update;

pub use category::{CategoryInput, CreateCategory, DeleteCategory, UpdateCategory};
pub use create_price::CreatePrice;
pub use create_product::CreateProduct;
pub use create_variant::CreateVariant;
pub use delete::{Delete, DeletePrice, DeleteProduct, DeleteVariant, Removal};
pub use update::{Change, Update, UpdatePrice, UpdateProduct, UpdateVariant};

pub(crate) use references::{check_variant, place_product};
