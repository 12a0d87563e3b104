//! Rows and entities.

mod category;
mod links;
mod price;
mod product;
mod slugs;
mod variant;

use backoffice_core::Result;
use backoffice_core::command::{CHILDREN, EntityRef, Snapshot, Tx};
use backoffice_core::crud::Record;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

pub use category::Category;
pub use price::{Money, Price, Rate};
pub use product::Product;
pub use variant::Variant;

pub(crate) use category::share_categories;
pub(crate) use links::{LinkRow, Links};
pub(crate) use product::share_product;
pub(crate) use slugs::{free_slug, lock_slugs};
pub(crate) use variant::share_variant;

/// Selects rows by their own id, or by the product or variant that they belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Id,
    Product,
    Variant,
}

/// Returns the resource that a field of a snapshot names.
fn named(snapshot: &Snapshot, field: &str, kind: &'static str) -> Option<EntityRef> {
    let id = snapshot.get(field)?.as_str()?.parse().ok()?;
    Some(EntityRef { kind, id })
}

/// Returns the resources of one kind that are deleted and restored with the resource of a snapshot.
fn children<'a>(snapshot: &'a Snapshot, kind: &'static str) -> impl Iterator<Item = EntityRef> + use<'a> {
    let rows = snapshot
        .get(CHILDREN)
        .and_then(|children| children.get(kind)?.as_array());
    let id = |row: &Value| row.get("id")?.as_str()?.parse::<Uuid>().ok();
    rows.into_iter()
        .flatten()
        .filter_map(move |row| Some(EntityRef { kind, id: id(row)? }))
}

/// Returns the rows of one kind that are restored with the resources of snapshots, changed at the instant of the transaction.
fn restored_children<R: Record + DeserializeOwned>(tx: &Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<R>> {
    let mut rows = Vec::new();
    for snapshot in snapshots {
        rows.extend(snapshot.children::<R>(R::KIND)?.unwrap_or_default());
    }
    for row in &mut rows {
        *row.updated_at() = tx.now();
    }
    Ok(rows)
}
