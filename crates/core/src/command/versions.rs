//! Versions of resources: the numbers of their content states (audit specification, section 6.1).

use std::collections::BTreeMap;

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::tx::Tx;
use crate::db::Prepared;
use crate::error::Result;

/// Kind and id of a resource.
pub(super) type Key = (&'static str, Uuid);

/// The present versions of some resources.
#[derive(Debug, Default)]
pub(super) struct Present(BTreeMap<Key, i64>);

impl Present {
    /// Returns the version of a resource; 0 when no change of it was ever logged.
    pub(super) fn of(&self, key: &Key) -> i64 {
        self.0.get(key).copied().unwrap_or(0)
    }
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    resource_kind: String,
    #[diesel(sql_type = Text)]
    resource_id: String,
    #[diesel(sql_type = BigInt)]
    version: i64,
}

macro_rules! select {
    ($locking:literal) => {
        concat!(
            "select resource_kind, resource_id, version from audit_resource_versions \
             where tenant_id = $1 and (resource_kind, resource_id) in (select * from unnest($2::text[], $3::text[])) \
             order by resource_kind, resource_id",
            $locking
        )
    };
}

/// Returns the versions and locks their rows by kind, then id. One statement.
pub(super) async fn lock(tx: &mut Tx<'_>, keys: &[Key]) -> Result<Present> {
    load(tx, keys, select!(" for update")).await
}

/// Returns the versions. One statement.
pub(super) async fn read(tx: &mut Tx<'_>, keys: &[Key]) -> Result<Present> {
    load(tx, keys, select!("")).await
}

async fn load(tx: &mut Tx<'_>, keys: &[Key], statement: &'static str) -> Result<Present> {
    let tenant = tx.tenant();
    let kinds: Vec<&str> = keys.iter().map(|(kind, _)| *kind).collect();
    let ids: Vec<String> = keys.iter().map(|(_, id)| id.to_string()).collect();
    let statement = sql_query(statement)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<Text>, _>(kinds)
        .bind::<Array<Text>, _>(ids);
    let rows: Vec<Row> = Prepared(statement).load(tx.conn()).await?;
    let version = |(kind, id): &Key| {
        let id = id.to_string();
        let row = rows
            .iter()
            .find(|row| row.resource_kind == *kind && row.resource_id == id)?;
        Some(((*kind, id.parse().ok()?), row.version))
    };
    Ok(Present(keys.iter().filter_map(version).collect()))
}
