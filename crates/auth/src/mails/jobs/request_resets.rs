use backoffice_core::db::Recurring;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Result, Scope};
use diesel::sql_types::{Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::SendReset;

/// Finds the accounts of an address and enqueues a mail for each. The request itself does not look for accounts, so it takes the same
/// time for every address.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RequestResets {
    /// The address, normalized.
    pub(crate) email_norm: String,
}

#[derive(QueryableByName)]
struct Account {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

impl Job for RequestResets {
    const KIND: &'static str = "auth.user.request_resets";
    const PRIORITY: i16 = 50;
    // The payload is an address that any caller can send, usually that of a user.
    const KEEPS_PAYLOAD: bool = false;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let mut chunk = work.begin(&Scope::system()).await?;
        let accounts: Vec<Account> = sql_query(
            "select u.tenant_id, u.id from auth_users u \
             where u.email_norm = $1 and u.deleted_at is null and u.is_active \
               and (u.tenant_id = '00000000-0000-0000-0000-000000000000' or exists ( \
                   select from directory_tenants t \
                   where t.tenant_id = u.tenant_id and t.id = u.tenant_id and t.is_active and t.deleted_at is null)) \
             order by u.created_at, u.id limit 10",
        )
        .bind::<Text, _>(&self.email_norm)
        .prepared()
        .load(chunk.connection())
        .await?;
        for account in accounts {
            let new_job = NewJob::of_system(account.tenant_id, SendReset { user: account.id });
            enqueue(chunk.connection(), &call, &new_job).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
