//! The commands of this module. Updates and deletions are the same for every kind; creations differ.

mod create_category;
mod create_price;
mod create_product;
mod create_variant;
mod delete;
mod references;
mod update;

pub use create_category::CreateCategory;
pub use create_price::CreatePrice;
pub use create_product::CreateProduct;
pub use create_variant::CreateVariant;
pub use delete::{Delete, DeleteCategory, DeletePrice, DeleteProduct, DeleteVariant, Removal};
pub use update::{Change, Update, UpdateCategory, UpdatePrice, UpdateProduct, UpdateVariant};

pub(crate) use references::{check_parent, check_variant, place_product};
