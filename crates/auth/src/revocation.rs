//! Rights that were taken away. A row is written in the transaction that does it; this node drops what it remembers right after the
//! commit, the others find the row within a second.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use backoffice_core::db::{Connection, Prepared, Tx};
use backoffice_core::{Result, Runtime, Scope};
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, QueryableByName, insert_into, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::accounts::Accounts;
use crate::schema::auth_revocations as revocations;

/// How often a node looks for revocations of others; why they are not announced is decision 10.
const POLL: Duration = Duration::from_millis(400);
/// An hour.
const POLLS_BETWEEN_SWEEPS: u32 = 9000;

/// Whose rights changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// One session ended.
    Session(Uuid),
    /// A user changed, or all its sessions ended.
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

async fn write(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid, subject: Subject) -> Result<()> {
    let (kind, subject_id) = subject.parts();
    insert_into(revocations::table)
        .values((
            revocations::tenant_id.eq(tenant),
            revocations::id.eq(id),
            revocations::subject_kind.eq(kind),
            revocations::subject_id.eq(subject_id),
        ))
        .execute(connection)
        .await?;
    Ok(())
}

/// Takes effect with the command's transaction.
///
/// # Errors
/// When the database can't be reached.
pub async fn revoke(tx: &mut Tx<'_>, subject: Subject) -> Result<()> {
    let (tenant, id) = (tx.tenant(), tx.new_id());
    write(tx.conn(), tenant, id, subject).await?;
    let accounts: Arc<Accounts> = tx.context().call().provided()?;
    tx.after_commit(move || accounts.cache.forget(subject));
    Ok(())
}

/// The same in a transaction that is no command; the caller drops the cache after its commit.
pub(crate) async fn record(connection: &mut AsyncPgConnection, tenant: Uuid, id: Uuid, subject: Subject) -> Result<()> {
    write(connection, tenant, id, subject).await
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

/// Watches for revocations until the process ends. While it can't, identities are not taken from the cache.
pub(crate) fn watch(runtime: Runtime) -> Option<BoxFuture<'static, ()>> {
    let accounts = runtime.platform.provided().get::<Accounts>()?;
    Some(Box::pin(async move {
        let mut seen = HashSet::new();
        let mut polls = 0_u32;
        loop {
            if polls.is_multiple_of(POLLS_BETWEEN_SWEEPS)
                && let Err(error) = sweep(&runtime).await
            {
                tracing::debug!(%error, "old revocations could not be removed");
            }
            polls = polls.wrapping_add(1);
            match poll(&runtime, &accounts, &mut seen).await {
                Ok(()) => accounts.cache.confirm(),
                Err(error) => tracing::debug!(%error, "revocations could not be read"),
            }
            tokio::time::sleep(POLL).await;
        }
    }))
}

async fn poll(runtime: &Runtime, accounts: &Accounts, seen: &mut HashSet<Uuid>) -> Result<()> {
    let mut connection: Connection = runtime.database.unlogged(&Scope::system()).await?;
    // A minute is read again each time: transactions commit later than they write.
    let rows: Vec<Revoked> = Prepared(sql_query(
        "select tenant_id, id, subject_kind, subject_id from auth_revocations \
         where created_at > clock_timestamp() - interval '1 minute'",
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

/// Removes rows that every node has seen.
async fn sweep(runtime: &Runtime) -> Result<()> {
    let mut connection = runtime.database.unlogged(&Scope::system()).await?;
    sql_query("delete from auth_revocations where created_at < clock_timestamp() - interval '24 hours'")
        .execute(&mut *connection)
        .await?;
    Ok(())
}
