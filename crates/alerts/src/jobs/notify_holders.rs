use backoffice_auth::find_next_holders;
use backoffice_core::jobs::{Job, NewJob, Step, Work, enqueue};
use backoffice_core::{Result, Scope, Timestamp};
use backoffice_notifications::MOST_IN_A_STATEMENT;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::URGENT_NOTIFY_PRIORITY;
use crate::acl;
use crate::notify::{Described, describe, notify_unread};
use crate::query::lock_alert;

/// Users that one job notifies; a further job notifies the next ones.
const BATCH: usize = MOST_IN_A_STATEMENT;

/// Notifies the users who may see an alert that is new or has grown. Each batch of them is a transaction of its own, which also enqueues the job of the
/// next batch: marks of the alert wait for one batch at most, and a crash repeats none that was committed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NotifyHolders {
    alert: Uuid,
    /// When the alert was opened or has grown, as the first batch has found it. After further growth another job notifies all users.
    occurred_at: Option<Timestamp>,
    /// The last user of the batch before this one.
    after: Option<Uuid>,
}

impl Job for NotifyHolders {
    const KIND: &'static str = "alerts.alert.notify";

    async fn run(&self, work: &mut Work<'_>) -> Result<Step> {
        let (call, tenant, now) = (work.call().clone(), work.tenant(), work.now());
        let mut chunk = work.begin(&Scope::tenant(tenant)).await?;
        let connection = chunk.connection();
        // The alert may have been resolved since.
        let alerts = describe(connection, &call, tenant, now, &[self.alert]).await?;
        if let Some(alert) = alerts.first().filter(|alert| self.is_about(alert)) {
            let organization = alert.organization_id;
            let holders = find_next_holders(connection, tenant, acl::VIEW, organization, self.after, BATCH).await?;
            if lock_alert(connection, tenant, alert.id, alert.occurred_at).await? {
                if let Some(last) = holders.next_after {
                    let next = Self {
                        alert: self.alert,
                        occurred_at: Some(alert.occurred_at),
                        after: Some(last),
                    };
                    enqueue(connection, &call, &NewJob::of_system(tenant, next)).await?;
                }
                notify_unread(connection, &call, tenant, alert, &holders.users).await?;
            }
        }
        chunk.finish().await?;
        Ok(Step::Done)
    }
}

impl NotifyHolders {
    pub(crate) const fn new(alert: Uuid) -> Self {
        Self {
            alert,
            occurred_at: None,
            after: None,
        }
    }

    /// Returns the job of the first batch. That of an urgent alert runs before the other jobs of the tenant, the next batches in their order.
    pub(crate) fn first_of(self, tenant: Uuid, is_urgent: bool) -> NewJob<Self> {
        let job = NewJob::of_system(tenant, self);
        NewJob {
            priority: if is_urgent {
                URGENT_NOTIFY_PRIORITY
            } else {
                job.priority
            },
            ..job
        }
    }

    /// Returns whether the alert has not grown since the first batch.
    fn is_about(&self, alert: &Described) -> bool {
        self.occurred_at.is_none_or(|at| at == alert.occurred_at)
    }
}
