//! Executions that clients request.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::{KeyColumn, Recurring, ReplaceRow};
use backoffice_core::{Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete, insert_into};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::business_rules_runs as runs;

/// An execution, the entity `business_rules.run`. Its results are rows of the log of executions.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = runs, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization of the record.
    pub organization_id: Option<Uuid>,
    /// Kind of the record.
    pub entity_type: String,
    /// Id of the record, as the client has given it.
    pub entity_id: String,
    /// The change.
    pub event_type: Option<String>,
    /// Whether the rules allow the change.
    pub allowed: bool,
    /// Number of rules that ran.
    pub executed_rules: i32,
    /// Time of the execution.
    pub created_at: Timestamp,
    /// Time of the execution.
    pub updated_at: Timestamp,
}

impl Run {
    /// Inserts rows, or replaces the stored ones.
    pub(crate) async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<()> {
        insert_into(runs::table)
            .values(rows)
            .on_conflict((runs::tenant_id, runs::id))
            .do_update()
            .set(ReplaceRow::<runs::table>::default())
            .prepared_if(rows.len() == 1)
            .execute(tx.conn())
            .await?;
        Ok(())
    }
}

impl Entity for Run {
    const KIND: &'static str = "business_rules.run";
    const NOT_FOUND: &'static str = "Run not found";

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = locker.scope();
        Ok(runs::table
            .filter(scope.owns(runs::tenant_id))
            .filter(scope.within(runs::organization_id))
            .filter(runs::id.one_of(ids))
            .order(runs::id)
            .select((runs::id, runs::tenant_id))
            .for_update()
            .load(&mut locker.connection())
            .await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = runs::table.filter(runs::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(runs::id.one_of(ids)).select(Self::as_select());
        let rows: Vec<Self> = rows.load(tx.conn()).await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        Self::write(tx, &rows).await?;
        Ok(Vec::new())
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = runs::table.filter(runs::tenant_id.eq(tx.tenant()));
        delete(rows.filter(runs::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }
}
