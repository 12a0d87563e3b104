//! Paths and bodies that the endpoints share.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// The id in a path. A malformed one is like that of a record that does not exist: the nil UUID.
#[derive(Debug, Clone, Copy, Deserialize, IntoParams)]
pub(super) struct PathId {
    /// The id.
    #[serde(deserialize_with = "or_nil")]
    pub(super) id: Uuid,
}

fn or_nil<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uuid, D::Error> {
    let text = String::deserialize(deserializer)?;
    Ok(text.parse().unwrap_or_else(|_| Uuid::nil()))
}

/// A written record.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(super) struct WrittenRecord {
    /// The record.
    pub(super) id: Uuid,
}

/// A deleted record.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(super) struct DeletedRecord {
    /// Always true.
    deleted: bool,
}

impl DeletedRecord {
    pub(super) const OK: Self = Self { deleted: true };
}
