//! Common parts of entities whose snapshot is one row. Each table is a type of its own, so code that names one is a macro.

use backoffice_core::Result;
use backoffice_core::command::{EntityRef, Snapshot, Snapshots, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use uuid::Uuid;

/// Returns the snapshots of rows that belong to no organization.
pub(crate) fn snapshots<R: Serialize>(rows: &[R], id: impl Fn(&R) -> Uuid) -> Result<Snapshots> {
    rows.iter()
        .map(|row| Ok((id(row), Snapshot::of(row)?.with_organization(None))))
        .collect()
}

/// Returns the rows of snapshots, with the present time as `updatedAt`.
pub(crate) fn rows_of<R: DeserializeOwned>(tx: &Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<R>> {
    let now = json!(tx.now());
    let row = |snapshot: &Snapshot| snapshot.clone().with_field("updatedAt", now.clone()).row();
    snapshots.iter().map(row).collect()
}

/// Returns the resource that a field of the snapshot names.
pub(crate) fn parent_in(snapshot: &Snapshot, field: &str, kind: &'static str) -> Option<EntityRef> {
    let id = snapshot.get(field)?.as_str()?.parse().ok()?;
    Some(EntityRef { kind, id })
}

/// Defines `write` of a row: inserts rows, or replaces the stored ones.
macro_rules! written_rows {
    ($row:ident, $table:ident) => {
        impl $row {
            /// Inserts rows, or replaces the stored ones.
            pub(crate) async fn write(tx: &mut Tx<'_>, rows: &[Self]) -> Result<()> {
                if rows.is_empty() {
                    return Ok(());
                }
                let statement = diesel::insert_into($table::table)
                    .values(rows)
                    .on_conflict(($table::tenant_id, $table::id))
                    .do_update()
                    .set(ReplaceRow::<$table::table>::default());
                backoffice_core::db::PreparedIf(statement, rows.len() == 1)
                    .execute(tx.conn())
                    .await?;
                Ok(())
            }
        }
    };
}

/// Defines `load`, `store` and `remove` of an entity whose rows belong to no organization and are physically deleted.
macro_rules! stored_rows {
    ($table:ident) => {
        async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
            let rows = $table::table.filter($table::tenant_id.eq(tx.tenant()));
            let rows = rows
                .filter(backoffice_core::db::KeyColumn::one_of($table::id, ids))
                .select(Self::as_select());
            snapshots(&rows.load(tx.conn()).await?, |row: &Self| row.id)
        }

        crate::stored::restored_rows!($table);
    };
}

/// Defines `store` and `remove` of an entity whose rows are physically deleted.
macro_rules! restored_rows {
    ($table:ident) => {
        async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
            let rows = rows_of(tx, snapshots)?;
            Self::write(tx, &rows).await?;
            Ok(Vec::new())
        }

        async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
            let rows = $table::table.filter($table::tenant_id.eq(tx.tenant()));
            diesel::delete(rows.filter(backoffice_core::db::KeyColumn::one_of($table::id, ids)))
                .execute(tx.conn())
                .await?;
            Ok(())
        }
    };
}

pub(crate) use {restored_rows, stored_rows, written_rows};
