//! Removes finished jobs after a while, in small batches.

use std::time::Duration;

use diesel::sql_query;
use diesel::sql_types::Timestamptz;
use diesel_async::RunQueryDsl;

use super::Stop;
use crate::error::Result;
use crate::platform::Runtime;

const EVERY: Duration = Duration::from_secs(600);
const BATCH: usize = 1000;

pub(super) async fn sweep(runtime: Runtime, mut stop: Stop) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.set() => return,
        }
        loop {
            match remove(&runtime).await {
                Ok(removed) if removed >= BATCH => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::debug!(%error, "could not remove old jobs");
                    break;
                }
            }
        }
    }
}

/// Removes one batch: finished and cancelled jobs after 7 days, dead ones after 90.
pub(super) async fn remove(runtime: &Runtime) -> Result<usize> {
    let now = runtime.platform.clock().now();
    let mut connection = runtime.database.queue().await?;
    Ok(sql_query(
        "delete from core_jobs j using (
            select tenant_id, id from core_jobs
            where finished_at < $1::timestamptz - interval '7 days'
              and (state in ('done', 'cancelled') or state = 'dead' and finished_at < $1::timestamptz - interval '90 days')
            order by finished_at limit 1000
            for update skip locked
        ) as old
        where j.tenant_id = old.tenant_id and j.id = old.id",
    )
    .bind::<Timestamptz, _>(now)
    .execute(&mut *connection)
    .await?)
}
