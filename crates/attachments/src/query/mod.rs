//! Reads. Every statement begins with a scope.

pub(crate) mod absent;
pub mod attachments;
pub(crate) mod check;
pub(crate) mod extraction;
pub mod fields;
pub mod library;
pub mod links;
pub mod partitions;
pub(crate) mod relocation;
pub mod staged;
pub mod usage;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Recurring;
use diesel::sql_query;
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;

/// Locks the number of rows that the transaction's tenant has in a table, until the transaction ends: it is counted, and a row is added.
async fn lock_number(tx: &mut Tx<'_>, table: &str) -> Result<()> {
    sql_query("select pg_advisory_xact_lock(hashtextextended($1 || ':' || $2::text, 0))")
        .bind::<Text, _>(table)
        .bind::<SqlUuid, _>(tx.tenant())
        .prepared()
        .execute(tx.conn())
        .await?;
    Ok(())
}
