//! The transaction of a command.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::mem;

use diesel::QueryableByName;
use diesel::pg::Pg;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::deferred::DeferredItems;
use super::entity::{AnyEntity, AnyRow, LockedRow, Locker};
use super::snapshot::Snapshot;
use crate::context::RequestContext;
use crate::db::{Connection, PreparedSql, Visibility};
use crate::error::{Error, Rejection, Result};
use crate::events::Event;
use crate::scope::{Scope, VisibleTenants};
use crate::time::Timestamp;

mod savepoint;

type AfterCommit = Box<dyn FnOnce() + Send + Sync>;
/// Work for which a transaction of its own begins when another one has ended.
type Completion = Box<dyn for<'c> FnOnce(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<()>> + Send + Sync>;

/// The transaction in which a command, its log entry and its events are committed together.
pub struct Tx<'a> {
    connection: Connection,
    context: &'a RequestContext,
    tenant: Uuid,
    /// Tenants in which it announces events that a subscriber wants.
    with_wanted_events: BTreeSet<Uuid>,
    now: Timestamp,
    events: Vec<Event>,
    after_commit: Vec<AfterCommit>,
    completions: Vec<(Uuid, Completion)>,
    headers: Vec<(&'static str, String)>,
    deferred: DeferredItems,
    /// Values that interceptors keep, by type.
    kept: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    wrote_secret: Vec<&'static str>,
    changed_kinds: BTreeSet<&'static str>,
    stays: bool,
    rows: Rows,
    commits_with_log: bool,
}

/// Whole rows that the transaction has just locked or written, by type and id.
#[derive(Default)]
struct Rows {
    /// Read or written by the last statement: snapshots use them without loading them again.
    fresh: HashMap<(TypeId, Uuid), AnyRow>,
    /// Locked, for the command that changes them.
    locked: HashMap<(TypeId, Uuid), AnyRow>,
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
        let connection = context.database().begin(context.scope()).await?;
        Ok(Self::on(connection, context, tenant))
    }

    /// Begins a transaction together with its first lock, in one round trip. Also returns the result of the lock.
    pub(crate) async fn begin_locking(
        context: &'a RequestContext,
        tenant: Uuid,
        entity: &dyn AnyEntity,
        ids: &[Uuid],
    ) -> Result<(Self, Result<Vec<LockedRow>>)> {
        let mut connection = context.database().acquire(context.scope()).await?;
        let opening = connection.opening(context.scope());
        let locker = Locker {
            connection: &connection,
            context,
            tenant,
        };
        let locked = connection.begin_with(opening, entity.lock(locker, ids)).await?;
        Ok((Self::on(connection, context, tenant), locked))
    }

    fn on(connection: Connection, context: &'a RequestContext, tenant: Uuid) -> Self {
        Self {
            connection,
            context,
            tenant,
            with_wanted_events: BTreeSet::new(),
            now: context.now(),
            events: Vec::new(),
            after_commit: Vec::new(),
            completions: Vec::new(),
            headers: Vec::new(),
            deferred: DeferredItems::default(),
            kept: HashMap::new(),
            wrote_secret: Vec::new(),
            changed_kinds: BTreeSet::new(),
            stays: false,
            rows: Rows::default(),
            commits_with_log: false,
        }
    }

    /// Returns the part of this transaction that locks rows.
    #[must_use]
    pub fn locker(&self) -> Locker<'_> {
        Locker {
            connection: &self.connection,
            context: self.context,
            tenant: self.tenant,
        }
    }

    /// Keeps the rows of a lock that belong to the tenant of the transaction, so that they need not be loaded again.
    pub(crate) fn keep_locked(&mut self, locked: &mut [LockedRow]) {
        let tenant = self.tenant;
        for one in locked.iter_mut().filter(|one| one.tenant == tenant) {
            if let Some(row) = one.row.take() {
                self.rows.fresh.insert(((*row).type_id(), one.id), row);
            }
        }
    }

    /// Keeps a row that was just written, as the database returned it: the snapshot after the command needs no statement then. The row is what
    /// `load` of its entity would read.
    pub fn keep_written<R: Send + Sync + 'static>(&mut self, id: Uuid, row: R) {
        self.rows.fresh.insert((TypeId::of::<R>(), id), Box::new(row));
    }

    /// Returns the rows with these ids if all of them were just locked or written. They are returned once: `load` of an entity
    /// asks for them before it reads the rows.
    pub fn take_fresh<R: Clone + Send + Sync + 'static>(&mut self, ids: &[Uuid]) -> Option<Vec<R>> {
        let key = |id: &Uuid| (TypeId::of::<R>(), *id);
        let found: Option<Vec<R>> = ids
            .iter()
            .map(|id| self.rows.fresh.get(&key(id))?.downcast_ref::<R>().cloned())
            .collect();
        for id in ids {
            if let Some(row) = self.rows.fresh.remove(&key(id)) {
                self.rows.locked.insert(key(id), row);
            }
        }
        found
    }

    /// Returns the row as it was locked, for the command that is about to change it.
    pub(crate) fn take_locked<R: Send + Sync + 'static>(&mut self, id: Uuid) -> Option<R> {
        let row = self.rows.locked.remove(&(TypeId::of::<R>(), id))?;
        row.downcast().ok().map(|row| *row)
    }

    /// Forgets the rows that no snapshot has used: other statements may change them now.
    pub(crate) fn forget_fresh(&mut self) {
        self.rows.fresh.clear();
    }

    /// Reports that the statement of the log is the last one of the transaction.
    pub(crate) fn commit_with_log(&mut self) {
        self.commits_with_log = true;
    }

    /// Runs the statement of the log; commits with it if it is the last one.
    pub(crate) async fn run_log<T>(&self, statement: PreparedSql) -> Result<T>
    where
        T: QueryableByName<Pg> + Send + 'static,
    {
        if self.commits_with_log {
            return self.connection.commit_with(statement).await;
        }
        Ok(statement.run(&self.connection).await?)
    }

    /// Returns the connection, inside the transaction.
    pub fn conn(&mut self) -> &mut AsyncPgConnection {
        &mut self.connection
    }

    /// Returns the connection for pipelined statements.
    #[must_use]
    pub fn shared(&self) -> &AsyncPgConnection {
        &self.connection
    }

    /// Returns the context: principal, scope and instant.
    #[must_use]
    pub fn context(&self) -> &'a RequestContext {
        self.context
    }

    /// Returns the caller's scope.
    #[must_use]
    pub fn scope(&self) -> &'a Scope {
        self.context.scope()
    }

    /// Returns the tenant of the resource that the command changes.
    #[must_use]
    pub fn tenant(&self) -> Uuid {
        self.tenant
    }

    /// Returns the instant to write as `updated_at`: the request's, moved past the present `updated_at` of the resource.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Creates an id.
    #[must_use]
    pub fn new_id(&self) -> Uuid {
        self.context.ids().at(self.now)
    }

    /// Returns these organizations of the transaction's tenant with their live descendants.
    ///
    /// # Errors
    /// When the database can't be reached.
    pub async fn expand_organizations(&mut self, roots: &[Uuid]) -> Result<Vec<Uuid>> {
        match self.context.platform().provided().organizations() {
            Some(tree) => tree.expand(&mut self.connection, Some(self.tenant), roots).await,
            None => Ok(roots.to_vec()),
        }
    }

    /// Whether a row of the caller may belong to this organization: it is live, belongs to the transaction's tenant, and is in the caller's
    /// scope. The organization is locked, so that it stays live until the end of the transaction; a concurrent deletion waits, and then finds
    /// the row.
    ///
    /// # Errors
    /// When the database can't be reached, or no module provides the tree of organizations.
    pub async fn keep_organization(&mut self, id: Uuid) -> Result<bool> {
        if !self.scope().reads_organization(Some(id)) {
            return Ok(false);
        }
        match self.context.platform().provided().organizations() {
            Some(tree) => tree.keep(&mut self.connection, self.tenant, id).await,
            None => Err(Error::internal(
                "no module provides organizations: enable `directory`, or call `Startup::organizations` in a module",
            )),
        }
    }

    /// Locks the organizations into which undo or redo puts records, as [`Tx::keep_organization`] does. Without the directory there is nothing to
    /// lock.
    ///
    /// # Errors
    /// The conflict of undo and redo when one of them is not live or belongs to another tenant; 403 when one is outside of the caller's scope: the
    /// entry may be of another caller, or the caller may have lost the organization since.
    pub(super) async fn keep_entered_organizations(&mut self, ids: impl IntoIterator<Item = Uuid>) -> Result<()> {
        let Some(tree) = self.context.platform().provided().organizations() else {
            return Ok(());
        };
        for id in ids {
            if !tree.keep(&mut self.connection, self.tenant, id).await? {
                return Err(Rejection::undo_conflict(&["organizationId"]).into());
            }
            if !self.scope().reads_organization(Some(id)) {
                return Err(Rejection::organization_scope_violation().into());
            }
        }
        Ok(())
    }

    /// Reads across all tenants inside this transaction, whatever the caller's scope: for rules about the whole platform that a caller of one
    /// tenant must not break. The rows read may only decide; they must not be returned to the caller.
    ///
    /// # Errors
    /// When the database can't be reached, or `work` fails; the transaction must then be rolled back.
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

    /// Emits an event besides those of the bus. In an undo or redo it gets the field `undo` or `redo`.
    pub fn emit(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Returns the names of the events about this resource that were emitted so far. The bus adds its own when it writes the entry.
    pub fn emitted(&self, resource: Uuid) -> impl Iterator<Item = &str> {
        let id = resource.to_string();
        let about = self.events.iter().filter(move |event| event.id == id);
        about.map(|event| event.name.as_str())
    }

    /// Runs a hint (dropping a cache) once the transaction is committed. Hints are best effort.
    pub fn after_commit(&mut self, hint: impl FnOnce() + Send + Sync + 'static) {
        self.after_commit.push(Box::new(hint));
    }

    /// Runs work in a transaction of its own, in the present tenant, when this transaction has ended either way: committed, or rolled back because
    /// the command, or the item of a bulk job, was rejected. For rows that must remain of a rejected command. Nothing runs if the transaction
    /// is repeated, or if the process or the connection ends. The work is best effort: a failure is logged, and the response does not depend on it.
    pub fn on_completion(
        &mut self,
        work: impl for<'c> FnOnce(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<()>> + Send + Sync + 'static,
    ) {
        self.completions.push((self.tenant, Box::new(work)));
    }

    /// Sets a header of the response to the request, if the transaction is committed. Jobs have no response.
    pub fn response_header(&mut self, name: &'static str, value: String) {
        self.headers.push((name, value));
    }

    /// Returns the headers that were set so far; the last one of a name counts.
    pub(super) fn response_headers(&self) -> &[(&'static str, String)] {
        &self.headers
    }

    /// Leaves work for the end of the transaction: the [handler](super::DeferredWork) that was registered for this type gets all items at once
    /// ([`Registry::deferred_work`](crate::registry::Registry::deferred_work)). An item without a handler ends the execution with an error.
    pub fn defer<T: Send + Sync + 'static>(&mut self, item: T) {
        self.deferred.push(item);
    }

    /// Takes back the deferred items of this type. An interceptor that rejects the command uses it for items that must remain, and writes them
    /// [on completion](Tx::on_completion).
    pub fn take_deferred<T: Send + Sync + 'static>(&mut self) -> Vec<T> {
        let items = self.deferred.take(TypeId::of::<T>()).into_iter();
        items
            .filter_map(|item| item.downcast().ok())
            .map(|item: Box<T>| *item)
            .collect()
    }

    /// Keeps a value until the transaction ends or is rolled back to a savepoint. An interceptor runs for each of many resources, and needs to
    /// read only once what is the same for all of them.
    pub fn keep<T: Send + Sync + 'static>(&mut self, value: T) {
        self.kept.insert(TypeId::of::<T>(), Box::new(value));
    }

    /// Takes the kept value of this type.
    pub fn take_kept<T: Send + Sync + 'static>(&mut self) -> Option<T> {
        let value = self.kept.remove(&TypeId::of::<T>())?;
        value.downcast().ok().map(|value| *value)
    }

    pub(super) fn deferred(&mut self) -> &mut DeferredItems {
        &mut self.deferred
    }

    /// Reports to the bus that the command overwrote a secret field: the log entry redacts it and carries no undo token.
    pub fn wrote_secret(&mut self, field: &'static str) {
        self.wrote_secret.push(field);
    }

    /// Reports to the bus that the command changes rows of this kind besides its resource, affected resources and their parts: lists of that
    /// kind then count and read again ([`collections`](crate::collections)).
    pub fn changed(&mut self, kind: &'static str) {
        self.changed_kinds.insert(kind);
    }

    pub(crate) fn changed_kinds(&self) -> impl Iterator<Item = &'static str> {
        self.changed_kinds.iter().copied()
    }

    /// Reports to the bus that this execution can't be undone, although others of its command can: it needed more than rights.
    pub fn cannot_be_undone(&mut self) {
        self.stays = true;
    }

    pub(crate) fn stays(&self) -> bool {
        self.stays
    }

    pub(crate) fn set_tenant(&mut self, tenant: Uuid) {
        self.tenant = tenant;
    }

    /// Records that the transaction announces events of these names in its present tenant.
    pub(super) fn announces(&mut self, names: &[String]) {
        if self.context.platform().subscribers().want(names) {
            self.with_wanted_events.insert(self.tenant);
        }
    }

    pub(crate) fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    pub(crate) fn secrets_written(&self) -> &[&'static str] {
        &self.wrote_secret
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        mem::take(&mut self.events)
    }

    /// Commits, unless the statement of the log has done so.
    pub(crate) async fn commit(mut self) -> Result<()> {
        self.connection.end(true).await?;
        let tenants = mem::take(&mut self.with_wanted_events);
        self.context.platform().commit_notifier().notify(tenants);
        for hint in mem::take(&mut self.after_commit) {
            hint();
        }
        self.context.add_headers(mem::take(&mut self.headers));
        self.complete().await;
        Ok(())
    }

    /// Rolls back, without completions: the command is repeated, or nothing differs.
    pub(crate) async fn roll_back(mut self) {
        // A connection that can't roll back is closed when it is dropped, which rolls back too.
        let _closed = self.connection.end(false).await;
    }

    /// Rolls back a rejected command.
    pub(crate) async fn reject(mut self) {
        let _closed = self.connection.end(false).await;
        self.complete().await;
    }

    /// Runs the completions, each in a transaction of its own. The connection of this transaction is returned before.
    async fn complete(mut self) {
        let (completions, context) = (mem::take(&mut self.completions), self.context);
        drop(self);
        for (tenant, work) in completions {
            if let Err(error) = run_completion(context, tenant, work).await {
                tracing::warn!(%error, "could not run the completion of a transaction");
            }
        }
    }
}

async fn run_completion(context: &RequestContext, tenant: Uuid, work: Completion) -> Result<()> {
    let mut transaction = context.database().transaction(&Scope::tenant(tenant)).await?;
    work(transaction.connection()).await?;
    transaction.commit().await
}

/// Returns the organization into which undo or redo puts a record: the one that the snapshot to restore names, unless the present one names it
/// too. An organization itself is put into none.
pub(super) fn entered_organization(
    entity: &dyn AnyEntity,
    present: Option<&Snapshot>,
    requested: Option<&Snapshot>,
) -> Option<Uuid> {
    let named = requested.filter(|_| !entity.is_organization())?.organization()?;
    (present.and_then(Snapshot::organization) != Some(named)).then_some(named)
}
