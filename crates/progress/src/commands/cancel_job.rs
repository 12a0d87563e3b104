//! Cancels a job.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::db::Recurring;
use backoffice_core::events::Event;
use backoffice_core::identity::ActorKind;
use backoffice_core::{Feature, Rejection, Result, jobs as queue};
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::model::{ProgressJob, Status};
use crate::schema::progress_jobs as jobs;
use crate::{Error, acl, bulk};

/// Cancels a job and returns its status. A job that is pending, or that waits for another attempt, ends immediately. A job that a worker is
/// processing ends before its next chunk. Callers may cancel their own jobs and, with `progress.manage`, every visible job.
#[derive(Debug, Clone, Copy)]
pub struct CancelJob {
    /// The job.
    pub id: Uuid,
}

impl Command for CancelJob {
    const ID: &'static str = "progress.job.cancel";
    const CLASS: Class = Class::Edit;
    const LABEL: &'static str = "Cancel job";
    const FEATURES: &'static [Feature] = &[];
    const UNDOABLE: bool = false;
    type Entity = ProgressJob;
    type Output = Status;

    fn target(&self) -> Target {
        Target::Existing(self.id)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Status> {
        let (tenant, now, context) = (tx.tenant(), tx.now(), tx.context());
        let own_row = jobs::table
            .filter(jobs::tenant_id.eq(tenant))
            .filter(jobs::id.eq(self.id));
        let job: ProgressJob = own_row.select(ProgressJob::as_select()).first(tx.conn()).await?;
        let identity = context.identity();
        if !job.is_of(identity) && !context.holds_in(acl::MANAGE, job.organization_id) {
            return Err(Rejection::missing_features(&[acl::MANAGE.id]).into());
        }
        let status = job.status()?;
        if status == Status::Cancelled || job.cancel_requested_at.is_some() && !status.is_final() {
            return Ok(status);
        }
        if status.is_final() {
            return Err(Error::AlreadyFinished.into());
        }
        if !job.cancellable {
            return Err(Error::NotCancellable.into());
        }
        let untouched = status == Status::Pending;
        let taken = queue::cancel_watched(tx.conn(), tenant, self.id, untouched, now).await?;
        // A worker may already hold the queue's row of a pending job. It waits for the lock of this command, and begins the job only if the job is
        // still pending then.
        let at_once = taken || untouched;
        let status = if at_once { Status::Cancelled } else { status };
        let asked = (
            jobs::cancel_requested_at.eq(now),
            jobs::cancelled_by.eq(identity.id.filter(|_| identity.kind == ActorKind::User)),
            jobs::status.eq(status.as_str()),
            jobs::finished_at.eq(at_once.then_some(now)),
            jobs::updated_at.eq(now),
        );
        update(own_row).set(asked).prepared().execute(tx.conn()).await?;
        if at_once {
            let event = Event::new(bulk::event_name(status), self.id).with("status", status.as_str());
            tx.emit(bulk::shown(event, job.actor_id));
        }
        Ok(status)
    }
}
