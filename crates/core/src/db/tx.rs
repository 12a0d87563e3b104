//! The one transaction of a command.

use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::{Connection, Visibility};
use crate::context::RequestContext;
use crate::error::Result;
use crate::events::Event;
use crate::scope::{Scope, VisibleTenants};
use crate::time::Timestamp;

type AfterCommit = Box<dyn FnOnce() + Send>;

/// The transaction in which a command, its log entry and its events become true together.
pub struct Tx<'a> {
    connection: Connection,
    context: &'a RequestContext,
    tenant: Uuid,
    now: Timestamp,
    events: Vec<Event>,
    after_commit: Vec<AfterCommit>,
    wrote_secret: Vec<&'static str>,
    stays: bool,
}

/// Where a transaction stood.
#[derive(Debug)]
pub(crate) struct Savepoint {
    tenant: Uuid,
    now: Timestamp,
    events: usize,
    after_commit: usize,
    secrets: usize,
}

impl std::fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("tenant", &self.tenant)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl<'a> Tx<'a> {
    pub(crate) async fn begin(context: &'a RequestContext, tenant: Uuid) -> Result<Self> {
        Ok(Self {
            connection: context.database().begin(context.scope()).await?,
            context,
            tenant,
            now: context.now(),
            events: Vec::new(),
            after_commit: Vec::new(),
            wrote_secret: Vec::new(),
            stays: false,
        })
    }

    /// The connection, inside the transaction.
    pub fn conn(&mut self) -> &mut AsyncPgConnection {
        &mut self.connection
    }

    /// The same, for statements that are sent together.
    #[must_use]
    pub fn shared(&self) -> &AsyncPgConnection {
        &self.connection
    }

    /// Who acts, and where.
    #[must_use]
    pub fn context(&self) -> &'a RequestContext {
        self.context
    }

    /// The caller's scope.
    #[must_use]
    pub fn scope(&self) -> &'a Scope {
        self.context.scope()
    }

    /// The tenant of the resource that the command changes.
    #[must_use]
    pub fn tenant(&self) -> Uuid {
        self.tenant
    }

    /// The instant to write as `updated_at`: the request's, moved behind what the resource already has.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// A fresh id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.context.ids().at(self.now)
    }

    /// These organizations of the transaction's tenant with their live descendants.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn expand_organizations(&mut self, roots: &[Uuid]) -> Result<Vec<Uuid>> {
        match self.context.platform().provided().organizations.clone() {
            Some(tree) => tree.expand(&mut self.connection, Some(self.tenant), roots).await,
            None => Ok(roots.to_vec()),
        }
    }

    /// Whether a row of the caller's may belong to this organization: it is a live one of the transaction's tenant, and in the caller's scope.
    /// It is locked, so that it stays live until the end of the transaction; whoever deletes it waits, and finds the row then.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn keep_organization(&mut self, id: Uuid) -> Result<bool> {
        if !self.scope().reads_organization(Some(id)) {
            return Ok(false);
        }
        match self.context.platform().provided().organizations.clone() {
            Some(tree) => tree.keep(&mut self.connection, self.tenant, id).await,
            None => Ok(false),
        }
    }

    /// Reads across all tenants inside this transaction, whatever the caller reaches: for rules about the whole platform that a caller
    /// of one tenant must not break either. What is read decides, it is never told.
    ///
    /// # Errors
    /// When the database can't be reached, or the work fails; the transaction can't go on then.
    pub async fn across_tenants<T>(
        &mut self,
        work: impl for<'c> FnOnce(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<T>>,
    ) -> Result<T> {
        let own = Visibility::of(self.context.scope());
        let all = Visibility::of(&Scope::new(VisibleTenants::All, Some(self.tenant)));
        if own.sees_all() {
            return work(&mut self.connection).await;
        }
        self.connection.batch_execute(&all.sql(true)).await?;
        let output = work(&mut self.connection).await?;
        self.connection.batch_execute(&own.sql(true)).await?;
        Ok(output)
    }

    /// Announces something besides what the bus announces by itself.
    pub fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Runs a hint (dropping a cache) once the transaction is committed. Nothing that must happen belongs here.
    pub fn after_commit(&mut self, hint: impl FnOnce() + Send + 'static) {
        self.after_commit.push(Box::new(hint));
    }

    /// Tells the bus that the command overwrote a secret field: the entry names it redacted and carries no undo token.
    pub fn wrote_secret(&mut self, field: &'static str) {
        self.wrote_secret.push(field);
    }

    /// Tells the bus that this execution can't be undone, though others of its command can: what it did needed more than rights.
    pub fn cannot_be_undone(&mut self) {
        self.stays = true;
    }

    pub(crate) fn stays(&self) -> bool {
        self.stays
    }

    pub(crate) fn set_tenant(&mut self, tenant: Uuid) {
        self.tenant = tenant;
    }

    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    pub(crate) fn secrets_written(&self) -> &[&'static str] {
        &self.wrote_secret
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// A point to which the transaction can be rolled back, with what was announced since.
    pub(crate) async fn savepoint(&mut self) -> Result<Savepoint> {
        self.connection.batch_execute("savepoint part").await?;
        Ok(Savepoint {
            tenant: self.tenant,
            now: self.now,
            events: self.events.len(),
            after_commit: self.after_commit.len(),
            secrets: self.wrote_secret.len(),
        })
    }

    /// Forgets everything since the savepoint, and the savepoint.
    pub(crate) async fn roll_back_to(&mut self, savepoint: Savepoint) -> Result<()> {
        self.connection
            .batch_execute("rollback to savepoint part; release savepoint part")
            .await?;
        self.tenant = savepoint.tenant;
        self.now = savepoint.now;
        self.events.truncate(savepoint.events);
        self.after_commit.truncate(savepoint.after_commit);
        self.wrote_secret.truncate(savepoint.secrets);
        Ok(())
    }

    /// Keeps everything since the savepoint. The next part starts at the same tenant and instant.
    pub(crate) async fn release(&mut self, savepoint: Savepoint) -> Result<()> {
        self.connection.batch_execute("release savepoint part").await?;
        self.tenant = savepoint.tenant;
        self.now = savepoint.now;
        self.wrote_secret.truncate(savepoint.secrets);
        Ok(())
    }

    pub(crate) async fn commit(mut self) -> Result<()> {
        self.connection.end(true).await?;
        self.context.platform().commit_notifier().notify();
        for hint in std::mem::take(&mut self.after_commit) {
            hint();
        }
        Ok(())
    }

    pub(crate) async fn roll_back(mut self) {
        // A connection that can't even roll back is closed by being dropped, which rolls back too.
        let _closed = self.connection.end(false).await;
    }
}
