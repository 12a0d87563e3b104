use backoffice_calendar::{Subject, lock_subjects_of};
use backoffice_core::events::announce;
use backoffice_core::jobs::{Job, NewJob, Step, Work};
use backoffice_core::{Result, Scope};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::recompute::{Moment, recompute};

/// Recomputes the subjects that [`RecomputeSubjects`](super::RecomputeSubjects) has listed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RecomputeListed {
    subjects: Vec<Subject>,
}

impl Job for RecomputeListed {
    const KIND: &'static str = "alerts.subjects.recompute_listed";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let moment = Moment {
            call: &call,
            tenant,
            now,
        };
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let connection = chunk.connection();
        lock_subjects_of(connection, tenant, &self.subjects).await?;
        let recomputed = recompute(connection, moment, &self.subjects).await?;
        if !recomputed.events.is_empty() {
            announce(connection, &call, tenant, None, &recomputed.events).await?;
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

impl RecomputeListed {
    /// Returns the job to enqueue.
    pub(crate) fn for_subjects(tenant: Uuid, subjects: &[Subject]) -> NewJob<Self> {
        let job = Self {
            subjects: subjects.to_vec(),
        };
        NewJob::of_system(tenant, job)
    }
}
