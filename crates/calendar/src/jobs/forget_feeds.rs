use backoffice_core::db::Prepared;
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope, events};
use diesel::sql_types::Uuid as SqlUuid;
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::foreign::USER_EXISTS;
use crate::model::FEED;

/// Deletes the feeds that a deleted user, as a super administrator, has created in other tenants than their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ForgetFeeds {
    /// The tenant of the user.
    pub(crate) tenant: Uuid,
    /// The user.
    pub(crate) user: Uuid,
}

#[derive(QueryableByName)]
struct TenantWithFeeds {
    #[diesel(sql_type = SqlUuid)]
    tenant_id: Uuid,
}

/// Returns the statement that deletes the feeds and returns their tenants, in the order in which the versions of collections are locked.
fn forget() -> String {
    format!(
        "with forgotten as ( \
            delete from calendar_feeds where user_tenant_id = $1 and user_id = $2 and not {USER_EXISTS} returning tenant_id \
        ) select distinct tenant_id from forgotten order by tenant_id"
    )
}

impl Job for ForgetFeeds {
    const KIND: &'static str = "calendar.feed.forget";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let mut chunk = work.begin(&Scope::system()).await?;
        let statement = sql_query(forget())
            .bind::<SqlUuid, _>(self.tenant)
            .bind::<SqlUuid, _>(self.user);
        let tenants: Vec<TenantWithFeeds> = Prepared(statement).load(chunk.connection()).await?;
        for one in tenants {
            events::touch(chunk.connection(), &call, one.tenant_id, &[FEED]).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
