use backoffice_core::command::Entity;
use backoffice_core::db::KeyColumn;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, erasure};
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Timestamptz};
use diesel::{ExpressionMethods, QueryDsl, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::{PROCESSING, Request};
use crate::query;
use crate::schema::onboarding_requests as requests;

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "onboarding.erase_ended";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::days(1);
/// How long the data of an ended request are kept.
const KEPT: time::Duration = time::Duration::days(30);
/// Requests that one step erases. Each step reads the platform's whole log once.
const CHUNK: i64 = 1000;

/// Erases the data of persons whose requests ended 30 days ago, from the table and from the log.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseEnded {}

impl Job for EraseEnded {
    const KIND: &'static str = "onboarding.request.erase_ended";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let call = work.call().clone();
        let ended_before = work.now().after(-KEPT);
        let ids: Vec<Uuid> = {
            let mut connection = call.database().unlogged(&query::scope()).await?;
            requests::table
                .filter(requests::tenant_id.eq(PLATFORM_TENANT))
                .filter(requests::status.ne(PROCESSING))
                .filter(sql::<Bool>("coalesce(ended_at, expires_at) < ").bind::<Timestamptz, _>(ended_before))
                .order(requests::id)
                .limit(CHUNK)
                .select(requests::id)
                .load(&mut *connection)
                .await?
        };
        if ids.is_empty() {
            return Ok(Step::Done);
        }
        // The rows go last: what was not erased before a crash is found again.
        erasure::erase_resources(&call, PLATFORM_TENANT, Request::KIND, &ids).await?;
        let cursor = work.cursor() + 1;
        let mut chunk = work.begin(&query::scope()).await?;
        delete(requests::table.filter(requests::tenant_id.eq(PLATFORM_TENANT)))
            .filter(requests::id.one_of(ids))
            .execute(chunk.connection())
            .await?;
        chunk.advance(cursor).await?;
        Ok(Step::More)
    }
}
