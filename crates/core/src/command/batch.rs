//! One command on many resources in one transaction, each with its own log entry: the basis of bulk jobs.
//!
//! The whole set is locked, read, changed and logged together, so the number of statements doesn't depend on its size. If one resource prevents
//! the change of the others (a constraint, a guard, a rejection after the change), everything since the start is rolled back and the commands
//! run one by one, each in its own savepoint.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};

use diesel_async::AsyncPgConnection;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::deferred;
use super::entity::{AnyEntity, Transition};
use super::execute::{Execution, entity, exceeds_limit, is_failure};
use super::interceptor::{self, Hook, InterceptorContext};
use super::log::{self, EntryLocation, Failure, History, NewEntry, Versions};
use super::snapshot::{Snapshot, Snapshots};
use super::steps::WithoutResponse;
use super::token::UndoToken;
use super::tx::Tx;
use super::{Class, Command, CommandInfo, Entity, Target, changes, log_many, moved_forward};
use crate::acl::Feature;
use crate::context::RequestContext;
use crate::error::{Error, Rejection, Result};
use crate::events::Event;

/// A command that can run on many resources of its kind together. Its target exists, and it changes no resource but its target.
pub trait BatchCommand: Command + Sized {
    /// Changes all these resources with a number of statements that doesn't depend on their number. Returns the rejections of those that can't
    /// be changed; all others are changed, except where nothing differs: those rows stay as they are.
    fn apply_all(
        tx: &mut Tx<'_>,
        items: &[BatchItem<'_, Self>],
    ) -> impl Future<Output = Result<Vec<(Uuid, Rejection)>>> + Send;
}

/// A resource and the command to run on it.
#[derive(Debug)]
pub struct BatchItem<'a, C> {
    /// The id.
    pub id: Uuid,
    /// The command.
    pub command: &'a C,
    /// The snapshot under the lock.
    pub before: &'a Snapshot,
}

/// The outcome of one command of a batch.
#[derive(Debug)]
pub enum ItemOutcome {
    /// The resource was changed; the id of the log entry.
    Changed(Uuid),
    /// Nothing differs.
    Unchanged,
    /// The resource could not be changed; none of its changes is stored.
    Failed(Error),
}

/// Runs the commands, each on another resource, inside the transaction; returns the outcomes in their order. `before_log` takes further locks
/// that the transaction needs and that should be held as briefly as possible: it runs when all changes are done, before the first log entry,
/// after which the transaction may not wait for locks.
///
/// # Errors
/// When the principal lacks the features, or the transaction as a whole can't continue and may be repeated.
pub async fn execute_all<C: BatchCommand>(
    tx: &mut Tx<'_>,
    commands: &[C],
    before_log: impl for<'c> Fn(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<()>> + Sync,
) -> Result<Vec<ItemOutcome>> {
    check_scope(tx.context(), C::FEATURES)?;
    let entity = entity(tx.context(), <C::Entity as Entity>::KIND)?;
    let batch = Batch {
        commands: by_target(commands)?,
        info: CommandInfo::of::<C>(),
        entity: &*entity,
        before_log: &before_log,
    };
    let savepoint = tx.savepoint().await?;
    let mut outcomes = match batch.together(tx).await {
        Ok(Some(outcomes)) => {
            tx.release(savepoint).await?;
            outcomes
        }
        Err(error @ (Error::Unavailable(_) | Error::Collision(_))) => return Err(error),
        Ok(None) | Err(_) => {
            tx.roll_back_to(savepoint).await?;
            batch.one_by_one(tx).await?
        }
    };
    batch.record_failures(tx, &outcomes).await?;
    let mut outcome = |command: &C| match command.target() {
        Target::Existing(id) => outcomes.remove(&id),
        Target::New { .. } => None,
    };
    let missing = || Error::internal("a command of a batch has no outcome");
    commands
        .iter()
        .map(|command| outcome(command).ok_or_else(missing))
        .collect()
}

/// Checks that the principal holds the commands' features everywhere in the scope that the batch shares.
fn check_scope(context: &RequestContext, features: &[Feature]) -> Result<()> {
    let own = context.for_features(features)?;
    if own.scope().organizations == context.scope().organizations {
        return Ok(());
    }
    Err(Error::internal("a batch runs in a wider scope than its features"))
}

fn by_target<C: Command>(commands: &[C]) -> Result<BTreeMap<Uuid, &C>> {
    let mut by_target = BTreeMap::new();
    for command in commands {
        let (Target::Existing(id), true) = (command.target(), command.affects().is_empty()) else {
            return Err(Error::internal(format!("{} can't be run on many", C::ID)));
        };
        if by_target.insert(id, command).is_some() {
            return Err(Error::internal("a batch names a resource twice"));
        }
    }
    Ok(by_target)
}

struct Batch<'a, C> {
    commands: BTreeMap<Uuid, &'a C>,
    info: CommandInfo,
    entity: &'a dyn AnyEntity,
    before_log: &'a BeforeLog<'a>,
}

type BeforeLog<'a> = dyn for<'c> Fn(&'c mut AsyncPgConnection) -> BoxFuture<'c, Result<()>> + Sync + 'a;

/// A change that is ready to be logged.
struct Change {
    log_id: Uuid,
    id: Uuid,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
    changes: BTreeMap<String, serde_json::Value>,
    token: Option<UndoToken>,
    truncated: bool,
    events: Vec<Event>,
}

type Outcomes = BTreeMap<Uuid, ItemOutcome>;

impl<C: BatchCommand> Batch<'_, C> {
    /// Runs all commands at once; `None` when one of them prevents the change of the others.
    async fn together(&self, tx: &mut Tx<'_>) -> Result<Option<Outcomes>> {
        let mut outcomes = Outcomes::new();
        let ids: Vec<Uuid> = self.commands.keys().copied().collect();
        let before = self.lock_and_load(tx, &ids).await?;
        for id in ids.iter().filter(|id| !before.contains_key(id)) {
            outcomes.insert(*id, ItemOutcome::Failed(self.not_found()));
        }
        for (id, snapshot) in &before {
            if let Err(error) = self
                .intercept(tx, Hook::BeforeExecute, *id, (Some(snapshot), None), None)
                .await?
            {
                outcomes.insert(*id, ItemOutcome::Failed(error));
            }
        }
        let items: Vec<BatchItem<'_, C>> = before
            .iter()
            .filter(|(id, _)| !outcomes.contains_key(id))
            .filter_map(|(id, before)| {
                let command = *self.commands.get(id)?;
                Some(BatchItem {
                    id: *id,
                    command,
                    before,
                })
            })
            .collect();
        if items.is_empty() {
            return Ok(Some(outcomes));
        }
        for (id, rejection) in C::apply_all(tx, &items).await? {
            outcomes.insert(id, ItemOutcome::Failed(rejection.into()));
        }
        let done: Vec<Uuid> = items
            .iter()
            .map(|item| item.id)
            .filter(|id| !outcomes.contains_key(id))
            .collect();
        let Some(mut changes) = self.changes(tx, &done, before, &mut outcomes).await? else {
            return Ok(None);
        };
        if changes.is_empty() {
            return Ok(Some(outcomes));
        }
        deferred::run(tx).await?;
        let is_item = |id: &str| Uuid::parse_str(id).is_ok_and(|id| self.commands.contains_key(&id));
        assign_events(&mut changes, tx.take_events(), is_item);
        self.record(tx, changes, &mut outcomes).await?;
        Ok(Some(outcomes))
    }

    fn not_found(&self) -> Error {
        Rejection::not_found(self.entity.not_found()).into()
    }

    async fn lock_and_load(&self, tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let mut locked_rows = self.entity.lock(tx.locker(), ids).await?;
        tx.keep_locked(&mut locked_rows);
        let own: Vec<Uuid> = locked_rows
            .into_iter()
            .filter(|one| one.tenant == tenant)
            .map(|one| one.id)
            .collect();
        if own.is_empty() {
            return Ok(Snapshots::new());
        }
        let before = self.entity.snapshots(tx, &own, self.info.depth()).await?;
        tx.forget_fresh();
        tx.set_now(moved_forward(tx.now(), &before));
        Ok(before)
    }

    /// Returns the changes, once guards and interceptors have accepted each of them; `None` when one was rejected.
    async fn changes(
        &self,
        tx: &mut Tx<'_>,
        done: &[Uuid],
        mut before: Snapshots,
        outcomes: &mut Outcomes,
    ) -> Result<Option<Vec<Change>>> {
        let mut after = self.entity.snapshots(tx, done, self.info.depth()).await?;
        let mut changes = Vec::with_capacity(done.len());
        for id in done {
            let (before, after) = (before.remove(id), after.remove(id));
            let step = Transition {
                id: *id,
                from: before.as_ref(),
                to: after.as_ref(),
                restoring: false,
            };
            let allowed = match self.entity.guard(tx, &step).await {
                Ok(()) => self.entity.after_transition(tx, &step).await,
                rejected => rejected,
            };
            match allowed {
                Err(error @ (Error::Unavailable(_) | Error::Collision(_))) => return Err(error),
                Err(_) => return Ok(None),
                Ok(()) => {}
            }
            let differences = changes::between(self.entity.tracking(), before.as_ref(), after.as_ref());
            let snapshots = (before.as_ref(), after.as_ref());
            let last = self
                .intercept(tx, Hook::AfterExecute, *id, snapshots, Some(&differences))
                .await?;
            // What a command reports about its own entry is not known for each item of a batch.
            if last.is_err() || !tx.secrets_written().is_empty() || tx.stays() {
                return Ok(None);
            }
            let differs = before.is_some() != after.is_some() || !differences.is_empty();
            if !differs && matches!(self.info.class, Class::Edit | Class::Assign) {
                let written = |snapshot: &Option<Snapshot>| snapshot.as_ref().and_then(Snapshot::updated_at);
                if written(&before) != written(&after) {
                    return Ok(None);
                }
                outcomes.insert(*id, ItemOutcome::Unchanged);
                continue;
            }
            let truncated = exceeds_limit(tx, &self.info, [before.as_ref(), after.as_ref()]);
            let log_id = tx.new_id();
            changes.push(Change {
                log_id,
                id: *id,
                before,
                after,
                changes: differences,
                token: (self.info.undoable && !truncated).then(|| UndoToken::new(log_id, tx.context().ids().random())),
                truncated,
                events: Vec::new(),
            });
        }
        Ok(Some(changes))
    }

    async fn record(&self, tx: &mut Tx<'_>, changes: Vec<Change>, outcomes: &mut Outcomes) -> Result<()> {
        (self.before_log)(tx.conn()).await?;
        outcomes.extend(changes.iter().map(|one| (one.id, ItemOutcome::Changed(one.log_id))));
        let entries: Vec<NewEntry<'_>> = changes
            .iter()
            .map(|one| NewEntry {
                id: one.log_id,
                resource: one.id,
                before: one.before.as_ref(),
                after: one.after.as_ref(),
                changes: one.changes.clone(),
                versions: Versions::Next,
                token: one.token.as_ref(),
                history: History::None,
                location: None,
                affected: Vec::new(),
                dropped: Vec::new(),
                truncated: one.truncated,
                events: one.events.clone(),
            })
            .collect();
        log_many::write(tx, &self.info, self.entity, &entries).await
    }

    /// The outer error concerns the whole transaction, the inner one the resource.
    async fn intercept(
        &self,
        tx: &mut Tx<'_>,
        hook: Hook,
        id: Uuid,
        (before, after): (Option<&Snapshot>, Option<&Snapshot>),
        changes: Option<&BTreeMap<String, serde_json::Value>>,
    ) -> Result<Result<()>> {
        let command = self.commands.get(&id).copied();
        let interception = InterceptorContext {
            hook,
            command: self.info.id,
            kind: self.info.kind,
            id,
            is_affected: false,
            input: command.map(|command| command as &(dyn Any + Send + Sync)),
            entry: None,
            before,
            after,
            changes,
        };
        match interceptor::run(tx, &interception).await {
            Err(error @ (Error::Unavailable(_) | Error::Collision(_))) => Err(error),
            validated => Ok(validated),
        }
    }

    /// Logs the items that ended in a server error, best effort: in the transaction that was rolled back to the start of each of them.
    async fn record_failures(&self, tx: &mut Tx<'_>, outcomes: &Outcomes) -> Result<()> {
        let failed = outcomes.iter().filter_map(|(id, outcome)| match outcome {
            // An item that violates a constraint is reported as a conflict.
            ItemOutcome::Failed(error) if is_failure(error) && error.violated_constraint().is_none() => {
                Some((*id, error))
            }
            _ => None,
        });
        let failed: Vec<(Uuid, &Error)> = failed.collect();
        if failed.is_empty() {
            return Ok(());
        }
        let savepoint = tx.savepoint().await?;
        match self.write_failures(tx, &failed).await {
            Ok(()) => tx.release(savepoint).await,
            Err(error) => {
                tracing::warn!(%error, command.id = self.info.id, "could not record failed items");
                tx.roll_back_to(savepoint).await
            }
        }
    }

    async fn write_failures(&self, tx: &mut Tx<'_>, failed: &[(Uuid, &Error)]) -> Result<()> {
        let (context, tenant) = (tx.context(), tx.tenant());
        let ids: Vec<Uuid> = failed.iter().map(|(id, _)| *id).collect();
        let snapshots = self.entity.snapshots(tx, &ids, self.info.depth()).await?;
        for (resource, error) in failed {
            let failure = Failure {
                command: &self.info,
                tenant,
                resource: *resource,
                history: History::None,
                location: EntryLocation::of(context, self.entity, snapshots.get(resource)),
                error,
            };
            log::write_failure(tx.conn(), context, failure).await?;
        }
        Ok(())
    }

    /// Runs each command in a savepoint. All resources are locked first: the first entry locks the tenant's stream, after which the transaction
    /// may not wait for locks.
    async fn one_by_one(&self, tx: &mut Tx<'_>) -> Result<Outcomes> {
        let ids: Vec<Uuid> = self.commands.keys().copied().collect();
        self.entity.lock(tx.locker(), &ids).await?;
        (self.before_log)(tx.conn()).await?;
        let mut outcomes = Outcomes::new();
        for (id, command) in &self.commands {
            let savepoint = tx.savepoint().await?;
            let execution = Execution {
                command: *command,
                info: self.info,
                entity: self.entity,
            };
            let outcome = match execution
                .run(tx, None, &mut EntryLocation::default(), &mut WithoutResponse(*command))
                .await
            {
                Ok(done) if done.changed => {
                    tx.release(savepoint).await?;
                    ItemOutcome::Changed(done.log_id)
                }
                Ok(_) => {
                    tx.roll_back_to(savepoint).await?;
                    ItemOutcome::Unchanged
                }
                Err(error @ (Error::Unavailable(_) | Error::Collision(_))) => return Err(error),
                Err(error) => {
                    tx.reject_to(savepoint).await?;
                    ItemOutcome::Failed(error)
                }
            };
            outcomes.insert(*id, outcome);
        }
        Ok(outcomes)
    }
}

/// Gives each change the events about its resource. Events about resources outside of the batch belong to the first change; those about items
/// that did not change are dropped.
fn assign_events(changes: &mut [Change], events: Vec<Event>, is_item: impl Fn(&str) -> bool) {
    let index: HashMap<String, usize> = changes
        .iter()
        .enumerate()
        .map(|(at, one)| (one.id.to_string(), at))
        .collect();
    for event in events {
        let at = match index.get(&event.id) {
            Some(at) => *at,
            None if is_item(&event.id) => continue,
            None => 0,
        };
        if let Some(change) = changes.get_mut(at) {
            change.events.push(event);
        }
    }
}
