//! The job that sends the requests of rules that validate a command, after its commit.

use backoffice_core::command::Tx;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue_with};
use backoffice_core::{Result, Scope};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::request::{CallOutcome, CallingRule, Idempotency, send};
use crate::engine::failure::{self, FailedRule};
use crate::engine::settle::{self, Leavings};
use crate::engine::{PlannedCall, RuleRun};

/// Most requests of a job.
const MOST_CALLS: usize = 20;

/// A request that waits for the commit of its command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct QueuedCall {
    rule: CallingRule,
    once: Idempotency,
    call: PlannedCall,
}

impl QueuedCall {
    /// Takes the planned requests of a run, and notes in its results that they are queued. `depth` is that of the command.
    pub(crate) fn take(run: &mut RuleRun, tenant: Uuid, occasion: Uuid, depth: u32) -> Vec<Self> {
        let planned = std::mem::take(&mut run.calls);
        let rule = CallingRule {
            tenant,
            organization: run.rule.organization,
            id: run.rule.id,
            key: run.rule.key.clone(),
            depth: depth + 1,
        };
        let once = Idempotency {
            occasion,
            condition: run.condition.unwrap_or_default(),
        };
        for one in &planned {
            if let Some(result) = run.results.get_mut(one.action) {
                result.fields.insert("status".to_owned(), json!("queued"));
            }
        }
        let queued = |call| Self {
            rule: rule.clone(),
            once,
            call,
        };
        planned.into_iter().map(queued).collect()
    }
}

/// Enqueues requests in the transaction of the command; they are sent after its commit.
pub(crate) async fn enqueue(tx: &mut Tx<'_>, queued: &[QueuedCall]) -> Result<()> {
    let tenant = tx.tenant();
    for calls in queued.chunks(MOST_CALLS) {
        let job = CallPlatform { calls: calls.to_vec() };
        enqueue_with(tx, &NewJob::of_system(tenant, job)).await?;
    }
    Ok(())
}

/// Sends requests, one in each step. A crash repeats at most the request that was under way, with the same `Idempotency-Key`. A request that could not be
/// sent is repeated until the last attempt, which announces the failure, so that the later requests of the job are sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallPlatform {
    calls: Vec<QueuedCall>,
}

impl Job for CallPlatform {
    const KIND: &'static str = "business_rules.platform.call";
    // Bodies may contain data of records.
    const KEEPS_PAYLOAD: bool = false;

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let number = usize::try_from(work.cursor()).unwrap_or(usize::MAX);
        let Some(next) = self.calls.get(number) else {
            return Ok(Step::Done);
        };
        let (call, tenant, cursor) = (work.call().clone(), work.tenant(), work.cursor() + 1);
        let outcome = send(&call, &next.rule, &next.call, next.once, None).await?;
        if outcome == CallOutcome::Unavailable && work.attempt() < Self::MAX_ATTEMPTS {
            return Err(CallOutcome::busy());
        }
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        if let Some(reason) = outcome.failure() {
            let (id, organization) = (next.rule.id, next.rule.organization);
            let rule = FailedRule::find(chunk.connection(), tenant, id, organization).await?;
            let mut leavings = Leavings::default();
            let reason = format!("CALL_PLATFORM: {reason}");
            failure::report(chunk.connection(), tenant, &rule, &reason, &mut leavings).await?;
            settle::write_last(chunk.connection(), &call, tenant, &leavings).await?;
        }
        chunk.advance(cursor).await?;
        Ok(Step::More)
    }
}
