//! Reads of reasons.

use backoffice_core::{Result, Scope};
use diesel::{QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Serialize;
use utoipa::ToSchema;

use crate::schema::calendar_reasons as reasons;
use crate::subject::ResourceType;

/// A reason for which a resource may be unavailable.
#[derive(Debug, Clone, Queryable, Selectable, Serialize, ToSchema)]
#[diesel(table_name = reasons, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarReason)]
pub(crate) struct Reason {
    /// The code, unique for the type.
    pub(crate) code: String,
    /// Type of the resources.
    pub(crate) resource_type: ResourceType,
    /// Text shown to users, in English.
    pub(crate) label: String,
    /// Position among the reasons of the type.
    pub(crate) sort_order: i32,
}

/// Returns all reasons, by type and position. They are global rows.
pub(crate) async fn all(connection: &AsyncPgConnection, scope: &Scope) -> Result<Vec<Reason>> {
    let rows = reasons::table
        .filter(scope.owns_or_global(reasons::tenant_id))
        .order((reasons::resource_type, reasons::sort_order, reasons::id))
        .select(Reason::as_select());
    Ok(rows.load(&mut &*connection).await?)
}
