use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope};
use diesel::{ExpressionMethods, QueryDsl, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::schema::calendar_feeds as feeds;

/// Deletes the feeds that a deleted user, as a super administrator, has created in other tenants than their own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ForgetFeeds {
    /// The tenant of the user.
    pub(crate) tenant: Uuid,
    /// The user.
    pub(crate) user: Uuid,
}

impl Job for ForgetFeeds {
    const KIND: &'static str = "calendar.feed.forget";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let mut chunk = work.begin(&Scope::system()).await?;
        delete(feeds::table.filter(feeds::user_tenant_id.eq(self.tenant)))
            .filter(feeds::user_id.eq(self.user))
            .execute(chunk.connection())
            .await?;
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
