//! The operations of the bus on the context of a request.

use serde_json::Value;
use uuid::Uuid;

use super::execute::execute;
use super::tx::Tx;
use super::{Command, CommandResponse, HistoryOutcome, history, idempotency};
use crate::acl::Feature;
use crate::context::RequestContext;
use crate::error::Result;

impl RequestContext {
    /// Runs a command on the bus and returns the response that `response` builds from its output.
    ///
    /// # Errors
    /// The rejections of the bus and of the command.
    pub async fn execute<C: Command, A: CommandResponse>(
        &self,
        command: &C,
        response: impl Fn(C::Output) -> A + Send + Sync,
    ) -> Result<A> {
        execute(self, command, response).await
    }

    /// Ends a repeated request with the stored response of its `Idempotency-Key`, before steps that the transaction of the command does not contain.
    ///
    /// # Errors
    /// The stored response; 409 while the first request is in progress, 422 if the key was used with another request; 503 when the database can't be
    /// reached.
    pub async fn reject_repeat(&self) -> Result<()> {
        if self.idempotency().is_none() {
            return Ok(());
        }
        let mut tx = Tx::begin(self, self.scope().tenant.unwrap_or(self.identity().tenant)).await?;
        let known = idempotency::begin(&mut tx).await;
        tx.roll_back().await;
        known
    }

    /// Changes a field of the response stored for an `Idempotency-Key`, once the result of a step after the commit is known (a mail was sent).
    ///
    /// # Errors
    /// 503 when the database can't be reached.
    pub async fn amend_response(&self, field: &str, value: &Value) -> Result<()> {
        idempotency::amend(self, field, value).await
    }

    /// Undoes an action by its token. `others` is the feature required to undo actions of other users.
    ///
    /// # Errors
    /// The rejections of section 6.3 of the audit specification.
    pub async fn undo<A: CommandResponse>(
        &self,
        token: &str,
        others: Feature,
        response: impl Fn(HistoryOutcome) -> A + Send + Sync,
    ) -> Result<A> {
        history::undo(self, token, others, response).await
    }

    /// Redoes an undone action by its log id. `others` is the feature required to redo actions of other users.
    ///
    /// # Errors
    /// The rejections of section 7 of the audit specification.
    pub async fn redo<A: CommandResponse>(
        &self,
        log_id: Uuid,
        others: Feature,
        response: impl Fn(HistoryOutcome) -> A + Send + Sync,
    ) -> Result<A> {
        history::redo(self, log_id, others, response).await
    }
}
