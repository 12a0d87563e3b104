//! Revocations of rights. The transaction that changes rights writes a row; this node drops its cached identities right after the commit,
//! the others find the row within a second.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::command::Tx;
use backoffice_core::db::{Connection, Prepared, Recurring};
use backoffice_core::poll::RevocationPoll;
use backoffice_core::{Result, Runtime, Scope};
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use uuid::Uuid;

use crate::accounts::Accounts;

/// Interval at which a node reads the revocations of others; decision 10 explains why they are not announced.
const POLL: Duration = Duration::from_millis(400);
/// One hour.
const POLLS_BETWEEN_SWEEPS: u32 = 9000;
/// Rows that a sweep deletes between two polls.
const BATCH: i64 = 5000;

/// The subject whose rights changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One session ended.
    Session(Uuid),
    /// A user changed, or all sessions of the user ended.
    User(Uuid),
    /// A role changed: every holder is affected.
    Role(Uuid),
    /// One API key ended.
    Key(Uuid),
    /// Everything in a tenant.
    Tenant(Uuid),
}

impl Subject {
    fn parts(self) -> (&'static str, Uuid) {
        match self {
            Self::Session(id) => ("session", id),
            Self::User(id) => ("user", id),
            Self::Role(id) => ("role", id),
            Self::Key(id) => ("key", id),
            Self::Tenant(id) => ("tenant", id),
        }
    }

    fn of(kind: &str, tenant: Uuid, id: Uuid) -> Option<Self> {
        match kind {
            "session" => Some(Self::Session(id)),
            "user" => Some(Self::User(id)),
            "role" => Some(Self::Role(id)),
            "key" => Some(Self::Key(id)),
            "tenant" | "organization" => Some(Self::Tenant(tenant)),
            _ => None,
        }
    }
}

const WRITE: &str = "\
insert into auth_revocations (tenant_id, id, subject_kind, subject_id)
select $1, r.id, r.kind, r.subject from unnest($2, $3, $4) as r (id, kind, subject)";

/// Writes a row for each subject: one statement.
async fn write(connection: &mut AsyncPgConnection, tenant: Uuid, ids: &[Uuid], subjects: &[Subject]) -> Result<()> {
    let (kinds, subjects): (Vec<&str>, Vec<Uuid>) = subjects.iter().map(|subject| subject.parts()).unzip();
    sql_query(WRITE)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Array<Text>, _>(kinds)
        .bind::<Array<SqlUuid>, _>(subjects)
        .prepared()
        .execute(connection)
        .await?;
    Ok(())
}

/// Revokes cached identities of the subject; takes effect when the command's transaction commits.
///
/// # Errors
/// If the database can't be reached.
pub(crate) async fn revoke(tx: &mut Tx<'_>, subject: Subject) -> Result<()> {
    revoke_all(tx, vec![subject]).await
}

/// Revokes cached identities of all these subjects, with one statement; takes effect when the command's transaction commits.
///
/// # Errors
/// If the database can't be reached.
pub async fn revoke_all(tx: &mut Tx<'_>, subjects: Vec<Subject>) -> Result<()> {
    let tenant = tx.tenant();
    let ids: Vec<Uuid> = subjects.iter().map(|_| tx.new_id()).collect();
    write(tx.conn(), tenant, &ids, &subjects).await?;
    let accounts: Arc<Accounts> = tx.context().call().provided()?;
    tx.after_commit(move || {
        for subject in subjects {
            accounts.cache.forget(subject);
        }
    });
    Ok(())
}

/// Writes a revocation in a transaction that is not a command's; the caller must update the cache after the commit.
pub(crate) async fn record(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid, subject: Subject) -> Result<()> {
    write(connection, tenant, &[id], &[subject]).await
}

#[derive(QueryableByName)]
struct Revoked {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Text)]
    subject_kind: String,
    #[diesel(sql_type = SqlUuid)]
    subject_id: Uuid,
}

/// Reads revocations until the process ends. While that fails, no identity is taken from the cache.
pub(crate) fn watch(runtime: Runtime) -> Option<BoxFuture<'static, ()>> {
    let accounts = runtime.platform.provided().get::<Accounts>()?;
    let rounds = runtime.platform.provided().get::<RevocationPoll>()?;
    Some(Box::pin(async move {
        let mut seen = HashSet::new();
        let mut polls = 0_u32;
        let mut is_sweeping = false;
        loop {
            // One batch between two polls: a long sweep must not delay what revokes rights.
            if is_sweeping || polls.is_multiple_of(POLLS_BETWEEN_SWEEPS) {
                is_sweeping = sweep(&runtime).await.unwrap_or_else(|error| {
                    tracing::debug!(%error, "could not delete old revocations");
                    false
                });
            }
            polls = polls.wrapping_add(1);
            rounds.0.begin();
            // Before the statement: the response does not prove that there are no later revocations.
            let started = Instant::now();
            match poll(&runtime, &accounts, &mut seen).await {
                Ok(()) => accounts.cache.confirm(started),
                Err(error) => tracing::debug!(%error, "could not read revocations"),
            }
            rounds.0.finish(POLL).await;
        }
    }))
}

async fn poll(runtime: &Runtime, accounts: &Accounts, seen: &mut HashSet<Uuid>) -> Result<()> {
    let mut connection: Connection = runtime.database.unlogged(&Scope::system()).await?;
    // Each poll reads the last minute again, because transactions commit later than they write; after a longer pause, `IdentityCache::confirm` drops
    // all identities. `clock_timestamp()` changes within a statement, so PostgreSQL can't search the index for it.
    let rows: Vec<Revoked> = Prepared(sql_query(
        "select tenant_id, id, subject_kind, subject_id from auth_revocations \
         where created_at > statement_timestamp() - interval '1 minute'",
    ))
    .load(&mut *connection)
    .await?;
    let current: HashSet<Uuid> = rows.iter().map(|row| row.id).collect();
    for row in rows.iter().filter(|row| !seen.contains(&row.id)) {
        if let Some(subject) = Subject::of(&row.subject_kind, row.tenant_id, row.subject_id) {
            accounts.cache.forget(subject);
        }
    }
    *seen = current;
    Ok(())
}

/// Skips rows that the sweep of another node has locked.
const SWEEP: &str = "\
with old as (
    select tenant_id, id from auth_revocations where created_at < statement_timestamp() - interval '24 hours'
    order by created_at limit $1 for update skip locked
)
delete from auth_revocations r using old where r.tenant_id = old.tenant_id and r.id = old.id";

/// Deletes a batch of rows that every node has read. Returns whether there may be more.
async fn sweep(runtime: &Runtime) -> Result<bool> {
    let mut connection = runtime.database.unlogged(&Scope::system()).await?;
    let deleted = sql_query(SWEEP)
        .bind::<BigInt, _>(BATCH)
        .prepared()
        .execute(&mut *connection)
        .await?;
    Ok(i64::try_from(deleted).unwrap_or(BATCH) >= BATCH)
}
