use backoffice_calendar::lock_subjects_of;
use backoffice_core::events::announce;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Result, Scope};
use serde::{Deserialize, Serialize};

use crate::recompute::{After, Behind, Moment, find_behind, recompute};

/// Subjects that one job recomputes; a further job recomputes the next ones.
const CHUNK: usize = 100;

/// Recomputes the subjects behind changed job sites and working calendars that did not fit in the transaction of the change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RecomputeSubjects {
    pub(crate) behind: Behind,
    pub(crate) after: Option<After>,
}

impl Job for RecomputeSubjects {
    const KIND: &'static str = "alerts.subjects.recompute";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let moment = Moment {
            call: &call,
            tenant,
            now,
        };
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let connection = chunk.connection();
        let found = find_behind(connection, tenant, now, &self.behind, self.after, CHUNK).await?;
        lock_subjects_of(connection, tenant, &found).await?;
        let recomputed = recompute(connection, moment, &found).await?;
        if let Some(last) = found.last().filter(|_| found.len() == CHUNK) {
            let next = Self {
                behind: self.behind.clone(),
                after: Some(last.into()),
            };
            enqueue(connection, &call, &NewJob::of_system(tenant, next)).await?;
        }
        if !recomputed.events.is_empty() {
            announce(connection, &call, tenant, None, &recomputed.events).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
