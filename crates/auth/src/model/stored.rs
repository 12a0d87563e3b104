//! Common parts of entities whose snapshot is one row. Each table is a type of its own, so code that names columns is a macro.

use backoffice_core::Result;
use backoffice_core::command::{EntityRef, Snapshot, Snapshots, Tx};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use uuid::Uuid;

/// Returns the snapshots of rows that belong to no organization.
pub(super) fn snapshots<R: Serialize>(rows: &[R], id: impl Fn(&R) -> Uuid) -> Result<Snapshots> {
    rows.iter()
        .map(|row| Ok((id(row), Snapshot::of(row)?.with_organization(None))))
        .collect()
}

/// Returns the rows of snapshots, with the present time as `updatedAt`.
pub(super) fn rows_of<R: DeserializeOwned>(tx: &Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<R>> {
    let now = json!(tx.now());
    let row = |snapshot: &Snapshot| snapshot.clone().with_field("updatedAt", now.clone()).row();
    snapshots.iter().map(row).collect()
}

/// Returns the resource that a field of the snapshot names.
pub(super) fn parent_in(snapshot: &Snapshot, field: &str, kind: &'static str) -> Option<EntityRef> {
    let id = snapshot.get(field)?.as_str()?.parse().ok()?;
    Some(EntityRef { kind, id })
}

/// Defines a function that inserts rows of a table, or replaces these columns of existing rows.
macro_rules! store_rows {
    ($name:ident, $row:ident, $table:ident, [$($column:ident),+]) => {
        /// Inserts or replaces rows.
        pub(crate) async fn $name(tx: &mut Tx<'_>, rows: &[$row]) -> Result<()> {
            if rows.is_empty() {
                return Ok(());
            }
            diesel::insert_into($table::table)
                .values(rows)
                .on_conflict(($table::tenant_id, $table::id))
                .do_update()
                .set((
                    $($table::$column.eq(excluded($table::$column)),)+
                    $table::created_at.eq(excluded($table::created_at)),
                    $table::updated_at.eq(excluded($table::updated_at)),
                ))
                .execute(tx.conn())
                .await?;
            Ok(())
        }
    };
}

/// Defines `load`, `store` and `remove` of an entity whose rows are physically deleted.
macro_rules! stored_rows {
    ($row:ident, $table:ident, $store:ident) => {
        async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
            let tenant = tx.tenant();
            let rows: Vec<$row> = $table::table
                .filter($table::tenant_id.eq(tenant))
                .filter($table::id.eq_any(ids))
                .select($row::as_select())
                .load(tx.conn())
                .await?;
            snapshots(&rows, |row| row.id)
        }

        async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
            let rows: Vec<$row> = rows_of(tx, snapshots)?;
            $store(tx, &rows).await?;
            Ok(Vec::new())
        }

        async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
            let tenant = tx.tenant();
            diesel::delete(
                $table::table
                    .filter($table::tenant_id.eq(tenant))
                    .filter($table::id.eq_any(ids)),
            )
            .execute(tx.conn())
            .await?;
            Ok(())
        }
    };
}

pub(super) use {store_rows, stored_rows};
