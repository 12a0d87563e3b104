//! Snapshots of all rows, with which tests prove that an undo restores them.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio_postgres::{Client, Statement};

use crate::TestDatabase;
use crate::database::parse;

/// The rows of each table as JSON, in an order that depends only on the rows.
pub type DatabaseSnapshot = BTreeMap<String, Vec<Value>>;

const TABLES: &str = "\
select c.relname::text from pg_class c \
where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition \
  and c.relname <> '__diesel_schema_migrations' \
order by 1";

/// Digests of all rows of the tables that there were at the start.
#[derive(Debug)]
pub struct Digests<'a> {
    owner: &'a Client,
    statement: Statement,
}

impl Digests<'_> {
    /// Returns a value that changes with any row of any table: a hash of each table, `None` for an empty one.
    ///
    /// # Panics
    /// When the database can't be reached.
    pub async fn now(&self) -> Vec<Option<String>> {
        let row = self.owner.query_one(&self.statement, &[]).await;
        row.expect("every table can be read").get(0)
    }
}

impl TestDatabase {
    /// Returns the names of the tables of the schema; a partitioned table counts as one.
    ///
    /// # Panics
    /// When the database can't be reached.
    pub async fn tables(&self) -> Vec<String> {
        let rows = self
            .owner()
            .query(TABLES, &[])
            .await
            .expect("the catalogue can be read");
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Prepares the statement that hashes the rows of each table. Two digests show whether any row has changed, for less than two snapshots.
    ///
    /// # Panics
    /// When the database can't be reached.
    pub async fn digests(&self) -> Digests<'_> {
        let hash = |table| format!("(select md5(string_agg(t::text, ' ' order by t::text)) from public.\"{table}\" t)");
        let hashes: Vec<String> = self.tables().await.into_iter().map(hash).collect();
        let sql = format!("select array[{}]", hashes.join(", "));
        Digests {
            owner: self.owner(),
            statement: self.owner().prepare(&sql).await.expect("every table can be read"),
        }
    }

    /// Returns all rows of all tables at one instant.
    pub async fn snapshot(&self) -> DatabaseSnapshot {
        self.snapshot_without(&[], &[]).await
    }

    /// Returns a snapshot without these tables, and without columns of these names in any table.
    ///
    /// # Panics
    /// When the database can't be reached.
    pub async fn snapshot_without(&self, tables: &[&str], columns: &[&str]) -> DatabaseSnapshot {
        let mut snapshot: DatabaseSnapshot = self
            .tables()
            .await
            .into_iter()
            .map(|table| (table, Vec::new()))
            .collect();
        snapshot.retain(|table, _| !tables.contains(&table.as_str()));
        if snapshot.is_empty() {
            return snapshot;
        }
        // One statement, so that all tables are read at the same instant.
        let selects = snapshot.keys().map(|table| {
            format!("select '{table}' as name, (to_jsonb(t) - $1::text[])::text as image from public.\"{table}\" t")
        });
        let sql = format!("{} order by 1, 2", selects.collect::<Vec<_>>().join(" union all "));
        let rows = self
            .owner()
            .query(&sql, &[&columns])
            .await
            .expect("every table can be read");
        for row in rows {
            snapshot.entry(row.get(0)).or_default().push(parse(row.get(1)));
        }
        snapshot
    }
}
