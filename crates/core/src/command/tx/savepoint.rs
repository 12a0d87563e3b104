//! Savepoints of the transaction of a command.

use diesel_async::SimpleAsyncConnection;
use uuid::Uuid;

use super::{Rows, Tx};
use crate::error::Result;
use crate::time::Timestamp;

/// The state of a transaction at a savepoint.
#[derive(Debug)]
pub(crate) struct Savepoint {
    tenant: Uuid,
    now: Timestamp,
    events: usize,
    after_commit: usize,
    completions: usize,
    headers: usize,
    deferred: usize,
    secrets: usize,
    stays: bool,
}

impl Tx<'_> {
    /// Sets a savepoint, to which the transaction can be rolled back with the events since then.
    pub(crate) async fn savepoint(&mut self) -> Result<Savepoint> {
        self.connection.batch_execute("savepoint part").await?;
        Ok(Savepoint {
            tenant: self.tenant,
            now: self.now,
            events: self.events.len(),
            after_commit: self.after_commit.len(),
            completions: self.completions.len(),
            headers: self.headers.len(),
            deferred: self.deferred.len(),
            secrets: self.wrote_secret.len(),
            stays: self.stays,
        })
    }

    /// Rolls back to the savepoint and releases it.
    pub(crate) async fn roll_back_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.connection
            .batch_execute("rollback to savepoint part; release savepoint part")
            .await?;
        self.tenant = savepoint.tenant;
        self.now = savepoint.now;
        self.events.truncate(savepoint.events);
        self.after_commit.truncate(savepoint.after_commit);
        self.completions.truncate(savepoint.completions);
        self.headers.truncate(savepoint.headers);
        self.kept.clear();
        self.deferred.truncate(savepoint.deferred);
        self.wrote_secret.truncate(savepoint.secrets);
        self.stays = savepoint.stays;
        // The rows of the part that was rolled back are not those of the database.
        self.rows = Rows::default();
        Ok(())
    }

    /// Rolls back a rejected part to the savepoint. Its completions remain.
    pub(crate) async fn reject_to(&mut self, savepoint: Savepoint) -> Result<()> {
        let remaining = self.completions.split_off(savepoint.completions);
        self.roll_back_to(savepoint).await?;
        self.completions.extend(remaining);
        Ok(())
    }

    /// Releases the savepoint and keeps the changes since then. The next part starts at the same tenant and instant.
    pub(crate) async fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.connection.batch_execute("release savepoint part").await?;
        self.tenant = savepoint.tenant;
        self.now = savepoint.now;
        self.wrote_secret.truncate(savepoint.secrets);
        self.stays = savepoint.stays;
        Ok(())
    }
}
