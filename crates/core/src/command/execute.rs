//! One execution of a command (audit specification, section 2).

use std::collections::BTreeMap;
use std::sync::Arc;

use diesel::result::Error as DieselError;
use diesel_async::SimpleAsyncConnection;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use super::affected::{self, AffectedResource};
use super::deferred;
use super::entity::{AnyEntity, EntityRef, LockedRow, Transition};
use super::interceptor::{self, Hook, InterceptorContext};
use super::log::{self, EntryLocation, Failure, History, NewEntry, Versions};
use super::snapshot::Snapshot;
use super::steps::{self, AnyCommand, Responding, Steps, WithResponse};
use super::token::UndoToken;
use super::tx::Tx;
use super::{
    Class, Command, CommandInfo, CommandResponse, Depth, Operation, Target, changes, idempotency, moved_forward,
};
use crate::backoff::Collisions;
use crate::context::RequestContext;
use crate::error::{Error, Rejection, Result};

pub(super) async fn execute<C: Command, A: CommandResponse>(
    context: &RequestContext,
    command: &C,
    respond: impl Fn(C::Output) -> A + Send + Sync,
) -> Result<A> {
    let mut steps = WithResponse::new(command, respond);
    carry_out(context, command, CommandInfo::of::<C>(), &mut steps).await?;
    steps.into_response()
}

/// Carries out the command, and repeats it after a collision with another writer.
fn carry_out<'a>(
    context: &'a RequestContext,
    command: &'a dyn AnyCommand,
    info: CommandInfo,
    steps: &'a mut dyn Responding,
) -> BoxFuture<'a, Result<()>> {
    async move {
        let context = &context.for_features(info.features)?;
        let entity = entity(context, info.kind)?;
        let mut collisions = Collisions::default();
        loop {
            let execution = Execution {
                command,
                info,
                entity: &*entity,
            };
            let turn = context.write_turn(first_tenant(context, command.target())).await;
            let (mut tx, locked) = begin(context, &execution).await?;
            let mut location = EntryLocation::default();
            match run(&execution, &mut tx, locked, &mut location, steps).await {
                Ok(Done {
                    operation,
                    changed: true,
                    ..
                }) => {
                    tx.commit().await?;
                    if let Some(operation) = operation {
                        context.set_operation(operation);
                    }
                    return Ok(());
                }
                Ok(_) => {
                    // Nothing differs.
                    if context.idempotency().is_some() {
                        tx.commit().await?;
                    } else {
                        tx.roll_back().await;
                    }
                    return Ok(());
                }
                Err(Error::Collision(_)) if collisions.may_repeat() => {
                    tx.roll_back().await;
                    drop(turn);
                    collisions.pause(context.ids()).await;
                }
                Err(error) => {
                    let failure = Failure {
                        command: &info,
                        tenant: tx.tenant(),
                        resource: steps::resource(command),
                        history: History::None,
                        location,
                        error: &error,
                    };
                    tx.reject().await;
                    record_failure(context, failure).await;
                    return Err(error);
                }
            }
        }
    }
    .boxed()
}

/// The result of a lock that was sent with the begin of its transaction.
type FirstLock = Option<Result<Vec<LockedRow>>>;

/// Begins the transaction, together with the lock of the resource if nothing must be locked before it.
async fn begin<'a>(context: &'a RequestContext, execution: &Execution<'_>) -> Result<(Tx<'a>, FirstLock)> {
    let Execution { command, info, entity } = execution;
    let tenant = first_tenant(context, command.target());
    match command.target() {
        Target::Existing(id)
            if context.idempotency().is_none() && !info.locks_first && command.affects().is_empty() =>
        {
            let (tx, locked) = Tx::begin_locking(context, tenant, *entity, &[id]).await?;
            Ok((tx, Some(locked)))
        }
        _ => Ok((Tx::begin(context, tenant).await?, None)),
    }
}

/// Runs the command once. A command that changes nothing stores nothing, not even another `updatedAt`, except the response for an
/// `Idempotency-Key`.
async fn run(
    execution: &Execution<'_>,
    tx: &mut Tx<'_>,
    locked: FirstLock,
    location: &mut EntryLocation,
    steps: &mut dyn Responding,
) -> Result<Done> {
    idempotency::begin(tx).await?;
    let start = if tx.context().idempotency().is_some() {
        Some(tx.savepoint().await?)
    } else {
        tx.commit_with_log();
        None
    };
    let done = execution.run(tx, locked, location, &mut *steps).await?;
    if let Some(start) = start {
        if done.changed {
            tx.release(start).await?;
        } else {
            tx.roll_back_to(start).await?;
        }
        idempotency::finish(tx, steps.stored()?, done.operation.as_ref()).await?;
    }
    Ok(done)
}

pub(super) fn entity(context: &RequestContext, kind: &str) -> Result<Arc<dyn AnyEntity>> {
    context
        .platform()
        .registry()
        .find_entity(kind)
        .cloned()
        .ok_or_else(|| Error::internal(format!("entity kind {kind} is not registered")))
}

/// Whether the failure is logged: it ended in 5xx, and the database is reachable.
pub(super) fn is_failure(error: &Error) -> bool {
    match error {
        Error::Internal(_) | Error::Collision(_) => true,
        Error::Rejected(rejection) => rejection.status.is_server_error(),
        Error::Unavailable(cause) => is_timeout(&**cause),
        Error::Replayed(_) => false,
    }
}

/// True if PostgreSQL cancelled the statement on a timeout, so it is still reachable.
fn is_timeout(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let message = match cause.downcast_ref::<DieselError>() {
        Some(DieselError::DatabaseError(_, information)) => information.message(),
        _ => return false,
    };
    message.starts_with("canceling statement due to ")
}

/// Logs the failure in a separate transaction, best effort. No-op for errors that are not failures.
pub(super) async fn record_failure(context: &RequestContext, failure: Failure<'_>) {
    if !is_failure(failure.error) {
        return;
    }
    let command = failure.command.id;
    let recorded = async {
        let mut transaction = context.database().transaction(context.scope()).await?;
        let connection = transaction.connection();
        // After a lock timeout, the request must not wait for the log as long again.
        connection.batch_execute("set local lock_timeout = '500ms'").await?;
        log::write_failure(connection, context, failure).await?;
        transaction.commit().await
    };
    if let Err(error) = recorded.await {
        tracing::warn!(%error, command.id = command, "could not record a failed execution");
    }
}

/// Returns the tenant that is known before the resource is locked.
fn first_tenant(context: &RequestContext, target: Target) -> Uuid {
    match target {
        Target::New { tenant, .. } => tenant,
        Target::Existing(_) => context.scope().tenant.unwrap_or(context.identity().tenant),
    }
}

pub(super) struct Done {
    operation: Option<Operation>,
    pub(super) changed: bool,
    /// Id of the log entry; nil if there is none.
    pub(super) log_id: Uuid,
}

/// The result of an execution, ready to be logged.
struct Change {
    log_id: Uuid,
    id: Uuid,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
    changes: BTreeMap<String, Value>,
    affected: Vec<AffectedResource>,
}

fn keys(refs: &[EntityRef]) -> impl Iterator<Item = (&'static str, Uuid)> {
    refs.iter().map(|one| (one.kind, one.id))
}

pub(super) struct Execution<'a> {
    pub(super) command: &'a dyn AnyCommand,
    pub(super) info: CommandInfo,
    pub(super) entity: &'a dyn AnyEntity,
}

impl Execution<'_> {
    /// Runs the command; sets `location` as soon as the location of the resource is known.
    pub(super) async fn run(
        &self,
        tx: &mut Tx<'_>,
        locked: FirstLock,
        location: &mut EntryLocation,
        steps: &mut dyn Steps,
    ) -> Result<Done> {
        let id = steps::resource(self.command);
        let affects = self.command.affects_behind_lock(tx).await?;
        let before = self.lock_and_load(tx, id, locked, &affects).await?;
        *location = EntryLocation::of(tx.context(), self.entity, before.as_ref());
        let created = self.command.also_creates();
        let mut affected_before = affected::snapshots(tx, keys(&affects)).await?;
        affected_before.extend(keys(&created).map(|key| (key, None)));
        tx.forget_fresh();
        affected::advance(tx, &affected_before);
        let interception = InterceptorContext {
            hook: Hook::BeforeExecute,
            command: self.info.id,
            kind: self.info.kind,
            id,
            is_affected: false,
            input: Some(self.command.input()),
            entry: None,
            before: before.as_ref(),
            after: None,
            changes: None,
        };
        interceptor::run(tx, &interception).await?;
        steps.apply(tx).await?;
        let after = self.entity.snapshots(tx, &[id], self.info.depth()).await?.remove(&id);
        tx.forget_fresh();
        if before.is_none() {
            *location = EntryLocation::of(tx.context(), self.entity, after.as_ref());
        }
        let step = Transition {
            id,
            from: before.as_ref(),
            to: after.as_ref(),
            restoring: false,
        };
        self.entity.guard(tx, &step).await?;
        self.entity.after_transition(tx, &step).await?;
        let affected_after = affected::snapshots(tx, keys(&affects).chain(keys(&created))).await?;
        affected::validate(tx, &affected_before, &affected_after, false).await?;
        let mut changes = changes::between(self.entity.tracking(), before.as_ref(), after.as_ref());
        for field in tx.secrets_written() {
            changes.insert(
                (*field).to_owned(),
                json!({"from": Value::Null, "to": Value::Null, "redacted": true}),
            );
        }
        let interception = InterceptorContext {
            hook: Hook::AfterExecute,
            after: after.as_ref(),
            changes: Some(&changes),
            ..interception
        };
        interceptor::run(tx, &interception).await?;
        let (affected_keys, affected_events) = affected::changed(tx, &affected_before, &affected_after)?;
        affected::intercept(tx, &interception, &affected_keys, &affected_before, &affected_after).await?;
        let differs = before.is_some() != after.is_some() || !changes.is_empty() || !affected_keys.is_empty();
        if !differs && !self.info.changes_derived && matches!(self.info.class, Class::Edit | Class::Assign) {
            steps.complete(tx).await?;
            return Ok(Done {
                operation: None,
                changed: false,
                log_id: Uuid::nil(),
            });
        }
        for event in affected_events {
            tx.emit(event);
        }
        deferred::run(tx).await?;
        steps.complete(tx).await?;
        let log_id = tx.new_id();
        let affected = affected::record(tx, log_id, &affected_keys, &affected_before, &affected_after).await?;
        let change = Change {
            log_id,
            id,
            before,
            after,
            changes,
            affected,
        };
        let operation = self.record(tx, change).await?;
        Ok(Done {
            operation,
            changed: true,
            log_id,
        })
    }

    async fn lock_and_load(
        &self,
        tx: &mut Tx<'_>,
        id: Uuid,
        locked: FirstLock,
        affects: &[EntityRef],
    ) -> Result<Option<Snapshot>> {
        let is_new = matches!(self.command.target(), Target::New { .. });
        let own = (!is_new).then_some(EntityRef {
            kind: self.info.kind,
            id,
        });
        let mut locked_rows = if let Some(found) = locked {
            affected::all_found(self.entity, &[id], found?)?
        } else {
            let all: Vec<EntityRef> = own.into_iter().chain(affects.iter().cloned()).collect();
            affected::lock(tx, &all).await?
        };
        if let Some(first) = locked_rows.first()
            && (locked_rows.iter().any(|one| one.tenant != first.tenant) || (is_new && first.tenant != tx.tenant()))
        {
            return Err(Rejection::not_found(self.entity.not_found()).into());
        }
        if is_new {
            check_expected(tx.context(), None)?;
            return Ok(None);
        }
        if let Some(first) = locked_rows.first() {
            tx.set_tenant(first.tenant);
        }
        tx.keep_locked(&mut locked_rows);
        let mut snapshots = self.entity.snapshots(tx, &[id], self.info.depth()).await?;
        tx.set_now(moved_forward(tx.now(), &snapshots));
        let before = snapshots.remove(&id);
        check_expected(tx.context(), before.as_ref())?;
        Ok(before)
    }

    async fn record(&self, tx: &mut Tx<'_>, change: Change) -> Result<Option<Operation>> {
        let Change {
            log_id,
            id,
            before,
            after,
            changes,
            affected,
        } = change;
        let overwrote_secret = !tx.secrets_written().is_empty() && self.info.class != Class::Create;
        let truncated = exceeds_limit(tx, &self.info, [before.as_ref(), after.as_ref()]);
        let token = (self.info.undoable && !overwrote_secret && !truncated && !tx.stays())
            .then(|| UndoToken::new(log_id, tx.context().ids().random()));
        let entry = NewEntry {
            id: log_id,
            resource: id,
            before: before.as_ref(),
            after: after.as_ref(),
            changes,
            versions: Versions::Next,
            token: token.as_ref(),
            history: History::None,
            location: None,
            affected,
            dropped: Vec::new(),
            truncated,
            events: tx.take_events(),
        };
        log::write(tx, &self.info, self.entity, entry).await?;
        Ok(token.map(|token| operation(&self.info, History::None, &token, id, tx)))
    }
}

/// Whether one of the snapshots is too long to be stored with its children.
pub(super) fn exceeds_limit(tx: &Tx<'_>, info: &CommandInfo, snapshots: [Option<&Snapshot>; 2]) -> bool {
    let limit = tx.context().platform().audit().snapshot.max_bytes;
    let too_long = |snapshot: &Snapshot| snapshot.to_value().to_string().len() > limit;
    info.depth() == Depth::Tree && snapshots.into_iter().flatten().any(too_long)
}

pub(super) fn operation(
    info: &CommandInfo,
    history: History,
    token: &UndoToken,
    resource: Uuid,
    tx: &Tx<'_>,
) -> Operation {
    Operation {
        id: token.log_id,
        undo_token: token.to_string(),
        command_id: info.id,
        action_label: history.label(info),
        resource_kind: info.kind,
        resource_id: resource.to_string(),
        executed_at: tx.now(),
    }
}

fn check_expected(context: &RequestContext, before: Option<&Snapshot>) -> Result<()> {
    let Some(expected) = context.expected_updated_at() else {
        return Ok(());
    };
    let current = before.and_then(Snapshot::updated_at);
    if current == Some(expected) {
        return Ok(());
    }
    Err(Rejection::conflict("record_modified")
        .code("optimistic_lock_conflict")
        .with("currentUpdatedAt", json!(current))
        .with("expectedUpdatedAt", json!(expected))
        .into())
}
