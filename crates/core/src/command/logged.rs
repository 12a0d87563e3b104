//! Entries of the action log, as subscribers of events read them.

use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use crate::db::audit_action_logs as logs;
use crate::error::Result;

/// What an entry says about a change.
#[derive(Debug, Clone, PartialEq, Queryable, Selectable)]
#[diesel(table_name = logs, check_for_backend(diesel::pg::Pg))]
pub struct LoggedChange {
    /// Kind of the resource.
    pub resource_kind: Option<String>,
    /// Id of the resource.
    pub resource_id: Option<String>,
    /// Organization of the resource.
    pub organization_id: Option<Uuid>,
    /// Kind of the actor.
    pub actor_kind: String,
    /// Id of the actor; `None` for the platform.
    pub actor_id: Option<Uuid>,
    /// Snapshot before the change; `None` for a new resource.
    pub snapshot_before: Option<Value>,
    /// Snapshot after the change; `None` for a deleted resource.
    pub snapshot_after: Option<Value>,
    /// The changed fields.
    pub changed_fields: Vec<String>,
    /// Origin of the execution.
    pub context: Option<Value>,
}

impl LoggedChange {
    /// Returns the number of rules in the chain of causes of the change; 0 if no rule has caused it.
    #[must_use]
    pub fn depth(&self) -> u32 {
        let depth = self.context.as_ref().and_then(|context| context.get("depth"));
        let depth = depth.and_then(Value::as_u64).unwrap_or(0);
        u32::try_from(depth).unwrap_or(u32::MAX)
    }
}

/// Returns the entry that was written with an event ([`StoredEvent::log_id`](crate::events::StoredEvent)), unless it was removed.
///
/// # Errors
/// When the database can't be reached.
pub async fn logged(connection: &mut AsyncPgConnection, tenant: Uuid, log_id: Uuid) -> Result<Option<LoggedChange>> {
    let entry = logs::table
        .filter(logs::tenant_id.eq(tenant))
        .filter(logs::id.eq(log_id))
        .select(LoggedChange::as_select());
    Ok(entry.first(connection).await.optional()?)
}
