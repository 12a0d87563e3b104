//! After a rotation: values that were sealed with older keys are sealed with the first one.

use diesel::sql_types::{BigInt, Binary, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::SealedColumn;
use crate::context::Call;
use crate::db::Connection;
use crate::error::Result;
use crate::jobs::{Job, Step, Work};
use crate::scope::Scope;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "core.vault";
/// How often values are looked for that are sealed with older keys.
pub(crate) const EVERY: time::Duration = time::Duration::minutes(10);
/// Values that are sealed again at once.
const BATCH: i64 = 100;

/// Seals the values of all registered columns with the first key, if they are sealed with another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reseal {}

impl Job for Reseal {
    const KIND: &'static str = "core.vault.reseal";

    /// Each value is replaced in a statement of its own, if it is still the one that was opened; after a crash the others follow.
    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        for column in call.platform().extensions::<SealedColumn>() {
            let mut after = Uuid::nil();
            while let Some(last) = reseal(&call, *column, after).await? {
                after = last;
                let cursor = work.cursor();
                work.begin(&Scope::system()).await?.advance(cursor + 1).await?;
            }
        }
        Ok(Step::Done)
    }
}

#[derive(QueryableByName)]
struct Sealed {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Binary)]
    value: Vec<u8>,
}

/// Seals the next values of a column. Returns the id of the last one; `None` if there are no more.
async fn reseal(call: &Call, column: SealedColumn, after: Uuid) -> Result<Option<Uuid>> {
    let SealedColumn { table, column: name } = column;
    let vault = call.platform().vault();
    let current = vault.current()?;
    let length = current.len();
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let older: Vec<Sealed> = sql_query(format!(
        "select tenant_id, id, \"{name}\" as value from \"{table}\"
        where id > $1 and substring(\"{name}\" from 1 for {length}) <> $2 order by id limit $3"
    ))
    .bind::<SqlUuid, _>(after)
    .bind::<Binary, _>(&current)
    .bind::<BigInt, _>(BATCH)
    .load(&mut *connection)
    .await?;
    for row in &older {
        let opened = match vault.open(row.tenant_id, column.of(row.id), &row.value) {
            Ok(opened) => opened,
            Err(error) => {
                tracing::error!(%error, table, id = %row.id, "a value can't be sealed again");
                continue;
            }
        };
        let sealed = vault.seal(row.tenant_id, column.of(row.id), opened.expose_secret())?;
        sql_query(format!(
            "update \"{table}\" set \"{name}\" = $1 where tenant_id = $2 and id = $3 and \"{name}\" = $4"
        ))
        .bind::<Binary, _>(sealed)
        .bind::<SqlUuid, _>(row.tenant_id)
        .bind::<SqlUuid, _>(row.id)
        .bind::<Binary, _>(&row.value)
        .execute(&mut *connection)
        .await?;
    }
    Ok(older.last().map(|row| row.id))
}

/// The sealed values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedState {
    /// The column.
    pub column: SealedColumn,
    /// All values.
    pub values: u64,
    /// Those that are sealed with another key than the first.
    pub older: u64,
    /// Those that can't be opened.
    pub unreadable: u64,
}

/// Opens all sealed values of the platform once, for `doctor`.
///
/// # Errors
/// When the database can't be reached, or no key is configured.
pub async fn states(call: &Call) -> Result<Vec<SealedState>> {
    let mut states = Vec::new();
    for column in call.platform().extensions::<SealedColumn>() {
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        states.push(state(call, &mut connection, *column).await?);
    }
    Ok(states)
}

async fn state(call: &Call, connection: &mut Connection, column: SealedColumn) -> Result<SealedState> {
    let SealedColumn { table, column: name } = column;
    let vault = call.platform().vault();
    let mut state = SealedState {
        column,
        values: 0,
        older: 0,
        unreadable: 0,
    };
    let mut after = Uuid::nil();
    loop {
        let rows: Vec<Sealed> = sql_query(format!(
            "select tenant_id, id, \"{name}\" as value from \"{table}\" where id > $1 and \"{name}\" is not null order by id limit 1000"
        ))
        .bind::<SqlUuid, _>(after)
        .load(&mut **connection)
        .await?;
        let Some(last) = rows.last() else {
            return Ok(state);
        };
        after = last.id;
        let current = vault.current()?;
        for row in &rows {
            state.values += 1;
            state.older += u64::from(!row.value.starts_with(&current));
            let opened = vault.open(row.tenant_id, column.of(row.id), &row.value);
            state.unreadable += u64::from(opened.is_err());
        }
    }
}
