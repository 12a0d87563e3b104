use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Result, Scope};
use serde::{Deserialize, Serialize};

use super::RecomputeListed;
use crate::recompute::{After, Behind, find_behind};

/// Subjects that one job lists; a further job lists the next ones.
const LISTED: usize = 10_000;
/// Subjects that one job recomputes.
const CHUNK: usize = 100;

/// Lists the subjects behind changed job sites and working calendars that did not fit in the transaction of the change, for jobs that recompute them.
/// Finding some of them costs as much as finding all. None is missed: an assignment that is written later sees the change.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RecomputeSubjects {
    pub(crate) behind: Behind,
    pub(crate) after: Option<After>,
}

impl Job for RecomputeSubjects {
    const KIND: &'static str = "alerts.subjects.recompute";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let connection = chunk.connection();
        let found = find_behind(connection, tenant, now, &self.behind, self.after, LISTED).await?;
        for subjects in found.chunks(CHUNK) {
            enqueue(connection, &call, &RecomputeListed::for_subjects(tenant, subjects)).await?;
        }
        if let Some(last) = found.last().filter(|_| found.len() == LISTED) {
            let next = Self {
                behind: self.behind.clone(),
                after: Some(last.into()),
            };
            enqueue(connection, &call, &NewJob::of_system(tenant, next)).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}
