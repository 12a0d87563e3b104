//! After a rotation: values that were sealed with older keys are sealed with the first one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use diesel::sql_types::{BigInt, Binary, Nullable, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::SealedColumn;
use super::columns::KnownColumn;
use crate::context::Call;
use crate::db::Connection;
use crate::error::Result;
use crate::jobs::{Job, Step, Work};
use crate::scope::Scope;
use crate::time::Timestamp;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "core.vault";
/// How often values are looked for that are sealed with older keys.
pub(crate) const EVERY: time::Duration = time::Duration::minutes(10);
/// Rows that one statement reads.
const PAGE: i64 = 1000;
/// How long a process skips a column in which it has found no value of an older key. A process that still has the earlier keys may add one.
const SKIPPED: time::Duration = time::Duration::days(1);

/// The columns in which this process has found no value of an older key, and when. The keys of a process do not change.
#[derive(Debug, Default)]
pub(super) struct Completed(Mutex<HashMap<SealedColumn, Timestamp>>);

impl Completed {
    fn columns(&self) -> MutexGuard<'_, HashMap<SealedColumn, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether the column is skipped at this instant.
    fn covers(&self, column: SealedColumn, now: Timestamp) -> bool {
        let columns = self.columns();
        columns
            .get(&column)
            .is_some_and(|since| *since <= now && now < since.after(SKIPPED))
    }

    fn note(&self, column: SealedColumn, since: Timestamp) {
        self.columns().insert(column, since);
    }
}

/// Seals the values of all columns with the first key, if they are sealed with another one: also those of compiled modules that are not enabled.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reseal {}

impl Job for Reseal {
    const KIND: &'static str = "core.vault.reseal";

    /// Each value is replaced in a statement of its own, if it is still the one that was opened; after a crash the others follow.
    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let completed = &call.platform().vault().completed;
        for known in call.platform().sealed_columns() {
            let (column, began) = (known.column, work.now());
            if completed.covers(column, began) || !exists(&call, *known).await? {
                continue;
            }
            let (mut after, mut older) = (Some(RowKey::default()), 0);
            while let Some(key) = after {
                let page = reseal(&call, column, key).await?;
                after = page.last;
                older += page.older;
                if page.older > 0 {
                    let cursor = work.cursor();
                    work.begin(&Scope::system()).await?.advance(cursor + 1).await?;
                }
            }
            // Otherwise the next run looks again: the processes may be restarting with new keys.
            if older == 0 {
                completed.note(column, began);
            }
        }
        Ok(Step::Done)
    }
}

async fn exists(call: &Call, known: KnownColumn) -> Result<bool> {
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    known.exists(&mut connection).await
}

/// The key of a row: its tenant and its id. Ids are unique in a tenant only.
#[derive(Debug, Clone, Copy, Default)]
struct RowKey {
    tenant: Uuid,
    id: Uuid,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<Binary>)]
    value: Option<Vec<u8>>,
}

impl Row {
    fn key(&self) -> RowKey {
        RowKey {
            tenant: self.tenant_id,
            id: self.id,
        }
    }
}

/// Reads the rows after a key. `value` is null in rows without a value, and in those whose value begins with `except`.
async fn page(
    connection: &mut AsyncPgConnection,
    column: SealedColumn,
    after: RowKey,
    except: Option<&[u8]>,
) -> Result<Vec<Row>> {
    let SealedColumn { table, column: name } = column;
    Ok(sql_query(format!(
        "select tenant_id, id, case when $4 is null or substring(\"{name}\" from 1 for length($4)) <> $4 then \"{name}\" end as value \
        from \"{table}\" where (tenant_id, id) > ($1, $2) order by tenant_id, id limit $3"
    ))
    .bind::<SqlUuid, _>(after.tenant)
    .bind::<SqlUuid, _>(after.id)
    .bind::<BigInt, _>(PAGE)
    .bind::<Nullable<Binary>, _>(except)
    .load(connection)
    .await?)
}

/// The outcome of a page.
struct Resealed {
    /// The last row; `None` if there are no more.
    last: Option<RowKey>,
    /// Values of older keys that could be opened.
    older: usize,
}

/// Seals the values of the next rows. A value that can't be opened stays as it is: no further pass of this process can open it.
async fn reseal(call: &Call, column: SealedColumn, after: RowKey) -> Result<Resealed> {
    let SealedColumn { table, column: name } = column;
    let vault = call.platform().vault();
    let current = vault.current()?;
    let mut connection = call.database().unlogged(&Scope::system()).await?;
    let rows = page(&mut connection, column, after, Some(&current)).await?;
    let mut older = 0;
    for row in &rows {
        let Some(value) = &row.value else { continue };
        let opened = match vault.open(row.tenant_id, column.of(row.id), value) {
            Ok(opened) => opened,
            Err(error) => {
                tracing::error!(%error, table, id = %row.id, "a value can't be sealed again");
                continue;
            }
        };
        older += 1;
        let sealed = vault.seal(row.tenant_id, column.of(row.id), opened.expose_secret())?;
        sql_query(format!(
            "update \"{table}\" set \"{name}\" = $1 where tenant_id = $2 and id = $3 and \"{name}\" = $4"
        ))
        .bind::<Binary, _>(sealed)
        .bind::<SqlUuid, _>(row.tenant_id)
        .bind::<SqlUuid, _>(row.id)
        .bind::<Binary, _>(value)
        .execute(&mut *connection)
        .await?;
    }
    Ok(Resealed {
        last: rows.last().map(Row::key),
        older,
    })
}

/// The sealed values of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedState {
    /// The column.
    pub column: SealedColumn,
    /// Its module, if that is compiled but not enabled.
    pub disabled_module: Option<&'static str>,
    /// All values.
    pub values: u64,
    /// Those that are sealed with another key than the first.
    pub older: u64,
    /// Those that can't be opened.
    pub unreadable: u64,
}

/// Opens all sealed values of the compiled modules once, for `doctor`.
///
/// # Errors
/// When the database can't be reached.
pub async fn states(call: &Call) -> Result<Vec<SealedState>> {
    let mut states = Vec::new();
    for known in call.platform().sealed_columns() {
        let mut connection = call.database().unlogged(&Scope::system()).await?;
        if known.exists(&mut connection).await? {
            states.push(state(call, &mut connection, *known).await?);
        }
    }
    Ok(states)
}

async fn state(call: &Call, connection: &mut Connection, known: KnownColumn) -> Result<SealedState> {
    let vault = call.platform().vault();
    let KnownColumn {
        column,
        disabled_module,
    } = known;
    // Without a key, which only a disabled module needs, nothing can be opened.
    let current = vault.current().ok();
    let mut state = SealedState {
        column,
        disabled_module,
        values: 0,
        older: 0,
        unreadable: 0,
    };
    let mut after = RowKey::default();
    loop {
        let rows = page(connection, column, after, None).await?;
        let Some(last) = rows.last() else {
            return Ok(state);
        };
        after = last.key();
        for row in &rows {
            let Some(value) = &row.value else { continue };
            let is_current = current.as_ref().is_some_and(|current| value.starts_with(current));
            state.values += 1;
            state.older += u64::from(!is_current);
            let opened = vault.open(row.tenant_id, column.of(row.id), value);
            state.unreadable += u64::from(opened.is_err());
        }
    }
}
