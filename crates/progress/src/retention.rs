//! Finished jobs go with their items after 30 days.

use std::time::Duration;

use backoffice_core::context::Call;
use backoffice_core::{Result, Runtime, Scope, Timestamp};
use diesel::sql_query;
use diesel::sql_types::Timestamptz;
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;

const KEPT: time::Duration = time::Duration::days(30);
const HOUR: Duration = Duration::from_secs(3600);

/// Looks every hour.
pub(crate) fn background(runtime: Runtime) -> Option<BoxFuture<'static, ()>> {
    Some(Box::pin(async move {
        loop {
            if let Err(error) = forget(&Call::internal(&runtime)).await {
                tracing::debug!(%error, "old progress jobs could not be removed");
            }
            tokio::time::sleep(HOUR).await;
        }
    }))
}

/// Removes what finished more than 30 days ago, 500 jobs at a time. Returns how many went.
pub(crate) async fn forget(call: &Call) -> Result<usize> {
    let mut connection = call.database().bookkeeping(&Scope::system()).await?;
    let before: Timestamp = call.now.before(KEPT);
    let mut gone = 0;
    loop {
        let removed = sql_query(
            "delete from progress_jobs p using (
                select tenant_id, id from progress_jobs where finished_at < $1 order by finished_at limit 500
            ) old where p.tenant_id = old.tenant_id and p.id = old.id",
        )
        .bind::<Timestamptz, _>(before)
        .execute(&mut *connection)
        .await?;
        gone += removed;
        if removed < 500 {
            return Ok(gone);
        }
    }
}
