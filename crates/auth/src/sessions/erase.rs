//! Deletes sessions and one-time tokens a month after their end.

use backoffice_core::jobs::{Job, Step, Work};
use backoffice_core::{Result, Scope};
use diesel::sql_query;
use diesel::sql_types::{BigInt, Timestamptz};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};

/// The name of the schedule.
pub(crate) const SCHEDULE: &str = "auth.erase_ended";
/// How often the job runs.
pub(crate) const EVERY: time::Duration = time::Duration::hours(1);
/// How long the rows stay in their tables after their end. No request reads them; until then they show operators who was signed in, and from where.
const KEPT: time::Duration = time::Duration::days(30);
/// Rows of each table that one step deletes.
const CHUNK: i64 = 5000;

/// Skips rows that another transaction has locked; the next run finds them. An invitation that was neither used nor voided stays as long as its user:
/// lists show that it has expired. A user has at most one, because another invitation voids it.
const ERASE: [&str; 2] = [
    "with old as (
        select tenant_id, id from auth_sessions where least(ended_at, expires_at) < $1
        order by least(ended_at, expires_at) limit $2 for update skip locked
    )
    delete from auth_sessions s using old where s.tenant_id = old.tenant_id and s.id = old.id",
    "with old as (
        select tenant_id, id from auth_one_time_tokens
        where expires_at < $1 and (purpose <> 'invite' or used_at is not null or voided_at is not null)
        order by expires_at limit $2 for update skip locked
    )
    delete from auth_one_time_tokens k using old where k.tenant_id = old.tenant_id and k.id = old.id",
];

/// Deletes the sessions that ended or expired 30 days ago, and the tokens that expired then.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct EraseEnded {}

impl Job for EraseEnded {
    const KIND: &'static str = "auth.session.erase_ended";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (before, cursor) = (work.now().before(KEPT), work.cursor() + 1);
        let mut chunk = work.begin(&Scope::system()).await?;
        let mut most = 0;
        for statement in ERASE {
            let erased = sql_query(statement)
                .bind::<Timestamptz, _>(before)
                .bind::<BigInt, _>(CHUNK)
                .execute(chunk.connection())
                .await?;
            most = most.max(erased);
        }
        chunk.advance(cursor).await?;
        if i64::try_from(most).unwrap_or(CHUNK) < CHUNK {
            return Ok(Step::Done);
        }
        Ok(Step::More)
    }
}
