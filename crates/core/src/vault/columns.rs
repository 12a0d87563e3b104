//! The columns with sealed values: those of the enabled modules, and those that other compiled modules have left in the database.

use diesel::sql_types::{Bool, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use super::{SealedColumn, Vault};
use crate::error::Result;
use crate::platform::Platform;

/// A column with sealed values, and its module if that is not enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownColumn {
    pub(super) column: SealedColumn,
    pub(super) disabled_module: Option<&'static str>,
}

/// The columns of all compiled modules. A module that is enabled again needs the keys of its values, so they are counted and sealed again while it is
/// disabled.
#[derive(Debug)]
pub(crate) struct SealedColumns(Vec<KnownColumn>);

impl SealedColumns {
    /// Each column comes with the name of its module if that is not enabled.
    pub(crate) fn new(columns: Vec<(SealedColumn, Option<&'static str>)>) -> Self {
        let known = columns.into_iter().map(|(column, disabled_module)| KnownColumn {
            column,
            disabled_module,
        });
        Self(known.collect())
    }

    /// Returns whether values are sealed again after a rotation. Without keys there was none.
    pub(crate) fn are_resealed(&self, vault: &Vault) -> bool {
        let is_enabled = |known: &KnownColumn| known.disabled_module.is_none();
        self.0.iter().any(is_enabled) || vault.has_keys() && !self.0.is_empty()
    }
}

impl Platform {
    pub(super) fn sealed_columns(&self) -> &[KnownColumn] {
        &self.services::<SealedColumns>().0
    }
}

#[derive(QueryableByName)]
struct Existing {
    #[diesel(sql_type = Bool)]
    exists: bool,
}

impl KnownColumn {
    /// Returns whether the database has the column. That of a module that was never enabled is missing.
    pub(super) async fn exists(self, connection: &mut AsyncPgConnection) -> Result<bool> {
        if self.disabled_module.is_none() {
            return Ok(true);
        }
        let statement = sql_query(
            "select exists (select from pg_attribute where attrelid = to_regclass($1) and attname = $2 and not attisdropped) as exists",
        )
        .bind::<Text, _>(self.column.table)
        .bind::<Text, _>(self.column.column);
        let found: Existing = statement.get_result(connection).await?;
        Ok(found.exists)
    }
}
