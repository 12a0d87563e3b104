//! Records an execution that a client has requested.

use backoffice_core::command::{Class, Command, Target, Tx};
use backoffice_core::{Feature, Result};
use serde_json::Value;
use uuid::Uuid;

use crate::acl;
use crate::condition::reference::RunUser;
use crate::engine::recipients::RecipientsLeft;
use crate::engine::settle::{self, About, LOG};
use crate::engine::{RunOutcome, RunSubject, Trigger};
use crate::model::Run;
use crate::webhooks::queue;

/// Writes the log of a run, its notifications and its events, with the entry of the run. Returns the outcome with the results of the
/// notifications.
#[derive(Debug)]
pub(crate) struct RecordRun {
    pub(crate) run: Run,
    /// Whether the client has given the id of a record.
    pub(crate) has_record: bool,
    pub(crate) data: Value,
    pub(crate) user: RunUser,
    pub(crate) trigger: Trigger,
    pub(crate) outcome: RunOutcome,
}

impl Command for RecordRun {
    const ID: &'static str = "business_rules.run.execute";
    const CLASS: Class = Class::Create;
    const LABEL: &'static str = "Execute rules";
    const FEATURES: &'static [Feature] = &[acl::EXECUTE];
    const UNDOABLE: bool = false;
    type Entity = Run;
    type Output = RunOutcome;

    fn target(&self) -> Target {
        Target::New {
            tenant: self.run.tenant_id,
            id: self.run.id,
        }
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<RunOutcome> {
        let mut outcome = self.outcome.clone();
        let ctx = tx.context();
        let about = About {
            subject: RunSubject {
                tenant: self.run.tenant_id,
                organization: self.run.organization_id,
                entity_type: &self.run.entity_type,
                entity_id: self.has_record.then_some(self.run.entity_id.as_str()),
                event_type: self.run.event_type.as_deref(),
                data: &self.data,
            },
            run: self.run.id,
            trigger: self.trigger,
            user: &self.user,
            executed_by: settle::executor(ctx.identity()),
            now: tx.now(),
            rules: None,
        };
        let mut left = RecipientsLeft::default();
        let leavings = settle::settle(tx.conn(), ctx.call(), about, &mut outcome.runs, &mut left).await?;
        Run::write(tx, std::slice::from_ref(&self.run)).await?;
        settle::write_rows(tx.conn(), &leavings.rows).await?;
        queue(tx, &leavings.webhooks).await?;
        for new in settle::to_send(&leavings.notifications) {
            backoffice_notifications::send(tx, &new).await?;
        }
        for event in leavings.events {
            tx.emit(event);
        }
        tx.changed(LOG);
        Ok(outcome)
    }
}

/// Returns the id under which a run without a record is logged.
pub(crate) fn record_id(given: Option<&str>) -> String {
    given.map_or_else(|| Uuid::nil().to_string(), str::to_owned)
}
