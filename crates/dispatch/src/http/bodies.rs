//! Bodies that the endpoints share.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

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
