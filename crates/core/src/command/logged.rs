//! Entries of the action log, as subscribers of events read them.

use diesel::sql_types::{Array, Jsonb, Nullable, Text, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use super::changes;
use super::entity::Tracking;
use super::snapshot::Snapshot;
use crate::db::Prepared;
use crate::error::Result;
use crate::platform::Platform;

/// What an entry says about the change of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedChange {
    /// Kind of the actor.
    pub actor_kind: String,
    /// Id of the actor; `None` for the platform.
    pub actor_id: Option<Uuid>,
    /// Snapshot of the resource before the change; `None` for a new resource.
    pub snapshot_before: Option<Value>,
    /// Snapshot of the resource after the change; `None` for a deleted resource.
    pub snapshot_after: Option<Value>,
    /// The changed fields of the resource.
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

/// The resource of an entry has the changed fields of its column; those of an affected resource follow from its snapshots.
const LOGGED: &str = "\
select l.actor_kind, l.actor_id, l.context, r.snapshot_before, r.snapshot_after, r.changed_fields
from audit_action_logs l cross join lateral (
    select l.snapshot_before, l.snapshot_after, l.changed_fields where l.resource_kind = $3 and l.resource_id = $4
    union all
    select nullif(t.one -> 'before', 'null'), nullif(t.one -> 'after', 'null'), null
    from jsonb_array_elements(l.touched) as t (one) where t.one ->> 'kind' = $3 and t.one ->> 'id' = $4
) r
where l.tenant_id = $1 and l.id = $2
limit 1";

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    actor_kind: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    actor_id: Option<Uuid>,
    #[diesel(sql_type = Nullable<Jsonb>)]
    context: Option<Value>,
    #[diesel(sql_type = Nullable<Jsonb>)]
    snapshot_before: Option<Value>,
    #[diesel(sql_type = Nullable<Jsonb>)]
    snapshot_after: Option<Value>,
    #[diesel(sql_type = Nullable<Array<Text>>)]
    changed_fields: Option<Vec<String>>,
}

/// Returns what the entry that was written with an event ([`StoredEvent::log_id`](crate::events::StoredEvent)) says about the resource of the event:
/// the entry's own resource, or an affected one. `None` if the entry was removed, or is not about the resource.
///
/// # Errors
/// When the database can't be reached.
pub async fn logged(
    connection: &mut AsyncPgConnection,
    platform: &Platform,
    tenant: Uuid,
    log_id: Uuid,
    (kind, resource): (&str, &str),
) -> Result<Option<LoggedChange>> {
    let statement = sql_query(LOGGED)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(log_id)
        .bind::<Text, _>(kind)
        .bind::<Text, _>(resource);
    let row: Option<Row> = Prepared(statement).get_result(connection).await.optional()?;
    let Some(row) = row else { return Ok(None) };
    let (before, after) = (row.snapshot_before, row.snapshot_after);
    let changed_fields = if let Some(fields) = row.changed_fields {
        fields
    } else {
        let tracking = platform.registry().find_entity(kind).map(|entity| entity.tracking());
        differing(tracking.unwrap_or_default(), before.as_ref(), after.as_ref())?
    };
    Ok(Some(LoggedChange {
        actor_kind: row.actor_kind,
        actor_id: row.actor_id,
        snapshot_before: before,
        snapshot_after: after,
        changed_fields,
        context: row.context,
    }))
}

/// Returns the names of the fields that differ.
fn differing(tracking: Tracking, before: Option<&Value>, after: Option<&Value>) -> Result<Vec<String>> {
    let snapshot = |value: Option<&Value>| value.cloned().map(Snapshot::from_value).transpose();
    let (before, after) = (snapshot(before)?, snapshot(after)?);
    Ok(changes::between(tracking, before.as_ref(), after.as_ref())
        .into_keys()
        .collect())
}
