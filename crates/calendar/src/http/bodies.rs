//! Bodies that the endpoints share.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// A changed record.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = CalendarChanged)]
pub(super) struct ChangedRecord {
    /// The record.
    pub(super) id: Uuid,
}

/// A deleted record.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = CalendarDeleted)]
pub(super) struct DeletedRecord {
    /// Always true.
    deleted: bool,
}

impl DeletedRecord {
    pub(super) const OK: Self = Self { deleted: true };
}
