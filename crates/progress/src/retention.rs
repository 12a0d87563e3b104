//! Deletes finished jobs with their items after 30 days.

use std::time::Duration;

use backoffice_core::context::Call;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Result, Runtime, Scope, Timestamp, events};
use diesel::sql_query;
use diesel::sql_types::{Integer, Timestamptz};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;

use crate::model::KIND;

const KEPT: time::Duration = time::Duration::days(30);
const HOUR: Duration = Duration::from_secs(3600);

/// Runs every hour.
pub(crate) fn background(runtime: Runtime) -> Option<BoxFuture<'static, ()>> {
    Some(Box::pin(async move {
        loop {
            if let Err(error) = forget(&Call::internal(&runtime)).await {
                tracing::debug!(%error, "could not delete old progress jobs; retrying");
            }
            tokio::time::sleep(HOUR).await;
        }
    }))
}

/// Deletes jobs that finished more than 30 days ago: first their items, 5000 at a time, then the jobs without items, 500 at a time. Skips rows
/// that another node is deleting. Returns the number of deleted jobs.
pub(crate) async fn forget(call: &Call) -> Result<usize> {
    let before: Timestamp = call.now.before(KEPT);
    all(call, FORGET_ITEMS, 5000, before).await?;
    all(call, FORGET_JOBS, 500, before).await
}

/// Repeats the statement as long as it deletes the maximum number of rows.
async fn all(call: &Call, statement: &str, most: i32, before: Timestamp) -> Result<usize> {
    let mut deleted = 0;
    loop {
        let removed = batch(call, statement, most, before).await?;
        deleted += removed;
        if removed < usize::try_from(most).unwrap_or(0) {
            return Ok(deleted);
        }
    }
}

/// Deletes some rows and changes the version of the lists that showed them, in one transaction: a process that ends between both would leave totals
/// and entity tags of deleted rows valid.
async fn batch(call: &Call, statement: &str, most: i32, before: Timestamp) -> Result<usize> {
    let mut transaction = call.database().transaction(&Scope::system()).await?;
    let connection = transaction.connection();
    let removed = sql_query(statement)
        .bind::<Timestamptz, _>(before)
        .bind::<Integer, _>(most)
        .execute(&mut **connection)
        .await?;
    if removed > 0 {
        events::touch(connection, call, PLATFORM_TENANT, &[KIND]).await?;
    }
    transaction.commit().await?;
    Ok(removed)
}

const FORGET_ITEMS: &str = "\
delete from progress_job_items i using (
    select i.tenant_id, i.id from progress_jobs p
    join progress_job_items i on i.tenant_id = p.tenant_id and i.job_id = p.id
    where p.finished_at < $1 limit $2 for update of i skip locked
) old where i.tenant_id = old.tenant_id and i.id = old.id";

const FORGET_JOBS: &str = "\
delete from progress_jobs p using (
    select tenant_id, id from progress_jobs p
    where finished_at < $1 and not exists (select from progress_job_items i where i.tenant_id = p.tenant_id and i.job_id = p.id)
    order by finished_at limit $2 for update skip locked
) old where p.tenant_id = old.tenant_id and p.id = old.id";
