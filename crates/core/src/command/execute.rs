//! One execution of a command (audit specification, section 2).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use diesel::result::Error as DieselError;
use diesel_async::SimpleAsyncConnection;
use serde_json::{Value, json};
use uuid::Uuid;

use super::entity::{AnyEntity, EntityRef, Transition};
use super::interceptor::{self, Attempt, Hook};
use super::log::{self, Failure, History, NewEntry, Place, Versions};
use super::snapshot::Snapshot;
use super::token::UndoToken;
use super::touched::{self, Touched};
use super::{Class, Command, CommandInfo, Depth, Entity, Operation, Target, changes, idempotency, moved_forward};
use crate::context::RequestContext;
use crate::db::Tx;
use crate::error::{Error, Refusal, Result};
use crate::http::Answer;

/// Times that a transaction is repeated when it collides with another one.
const REPEATS: u32 = 3;

pub(crate) async fn execute<C: Command, A: Answer>(
    context: &RequestContext,
    command: &C,
    answer: impl Fn(C::Output) -> A + Send + Sync,
) -> Result<A> {
    let context = &context.for_features(C::FEATURES)?;
    let entity = entity(context, <C::Entity as Entity>::KIND)?;
    let info = CommandInfo::of::<C>();
    let mut repeats = 0;
    loop {
        let mut tx = Tx::begin(context, first_tenant(context, command.target())).await?;
        let mut place = Place::default();
        let execution = Execution {
            command,
            info,
            entity: &*entity,
        };
        match run(&execution, &mut tx, &mut place, &answer).await {
            Ok(Done {
                answer,
                operation,
                changed: true,
                ..
            }) => {
                tx.commit().await?;
                if let Some(operation) = operation {
                    context.set_operation(operation);
                }
                return Ok(answer);
            }
            Ok(Done { answer, .. }) => {
                // Nothing differs.
                if context.idempotency().is_some() {
                    tx.commit().await?;
                } else {
                    tx.roll_back().await;
                }
                return Ok(answer);
            }
            Err(Error::Collision(_)) if repeats < REPEATS => {
                tx.roll_back().await;
                repeats += 1;
                pause(context, repeats).await;
            }
            Err(error) => {
                let failure = Failure {
                    command: &info,
                    tenant: tx.tenant(),
                    resource: resource(command.target()),
                    history: History::None,
                    place,
                    error: &error,
                };
                tx.roll_back().await;
                record_failure(context, failure).await;
                return Err(error);
            }
        }
    }
}

/// One try. What changes nothing leaves nothing behind, not even another `updatedAt`, but for the answer that an `Idempotency-Key` keeps.
async fn run<C: Command, A: Answer>(
    execution: &Execution<'_, C>,
    tx: &mut Tx<'_>,
    place: &mut Place,
    answer: impl Fn(C::Output) -> A,
) -> Result<Done<A>> {
    idempotency::begin(tx).await?;
    let start = match tx.context().idempotency() {
        Some(_) => Some(tx.savepoint().await?),
        None => None,
    };
    let done = execution.run(tx, place, answer).await?;
    if let Some(start) = start {
        if done.changed {
            tx.release(start).await?;
        } else {
            tx.roll_back_to(start).await?;
        }
        idempotency::finish(tx, &done.answer, done.operation.as_ref()).await?;
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

/// Whether the log says that it failed: it ended in 5xx, and the database is there to be told.
pub(super) fn is_failure(error: &Error) -> bool {
    match error {
        Error::Internal(_) | Error::Collision(_) => true,
        Error::Refused(refusal) => refusal.status.is_server_error(),
        Error::Unavailable(cause) => is_timeout(&**cause),
        Error::Replayed(_) => false,
    }
}

/// Whether the database itself gave up waiting; it is there then.
fn is_timeout(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let message = match cause.downcast_ref::<DieselError>() {
        Some(DieselError::DatabaseError(_, information)) => information.message(),
        _ => return false,
    };
    message.starts_with("canceling statement due to ")
}

/// Records it in a transaction of its own, as well as possible, if it is a failure at all.
pub(super) async fn record_failure(context: &RequestContext, failure: Failure<'_>) {
    if !is_failure(failure.error) {
        return;
    }
    let command = failure.command.id;
    let recorded = async {
        let mut transaction = context.database().transaction(context.scope()).await?;
        let connection = transaction.connection();
        // Whoever waited for a lock in vain does not wait for the log as long again.
        connection.batch_execute("set local lock_timeout = '500ms'").await?;
        log::write_failure(connection, context, failure).await?;
        transaction.commit().await
    };
    if let Err(error) = recorded.await {
        tracing::warn!(%error, command.id = command, "a failed execution could not be recorded");
    }
}

pub(super) async fn pause(context: &RequestContext, repeats: u32) {
    let [jitter] = context.ids().random::<1>();
    tokio::time::sleep(Duration::from_millis(u64::from(repeats) * 5 + u64::from(jitter) / 10)).await;
}

fn resource(target: Target) -> Uuid {
    match target {
        Target::New { id, .. } | Target::Existing(id) => id,
    }
}

/// The tenant as far as it is known before the resource is locked.
fn first_tenant(context: &RequestContext, target: Target) -> Uuid {
    match target {
        Target::New { tenant, .. } => tenant,
        Target::Existing(_) => context.scope().tenant.unwrap_or(context.identity().tenant),
    }
}

pub(super) struct Done<A> {
    answer: A,
    operation: Option<Operation>,
    pub(super) changed: bool,
    /// Of the entry, if there is one.
    pub(super) log_id: Uuid,
}

/// What an execution did, ready to be logged.
struct Change {
    log_id: Uuid,
    id: Uuid,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
    changes: BTreeMap<String, Value>,
    touched: Vec<Touched>,
}

fn keys(refs: &[EntityRef]) -> impl Iterator<Item = (&'static str, Uuid)> {
    refs.iter().map(|one| (one.kind, one.id))
}

pub(super) struct Execution<'a, C> {
    pub(super) command: &'a C,
    pub(super) info: CommandInfo,
    pub(super) entity: &'a dyn AnyEntity,
}

impl<C: Command> Execution<'_, C> {
    /// Notes where the resource belongs as soon as it is known.
    pub(super) async fn run<A: Answer>(
        &self,
        tx: &mut Tx<'_>,
        place: &mut Place,
        answer: impl Fn(C::Output) -> A,
    ) -> Result<Done<A>> {
        let id = resource(self.command.target());
        let touches = self.command.touches_behind_lock(tx).await?;
        let before = self.lock_and_load(tx, id, &touches).await?;
        *place = Place::of(tx.context(), self.entity, before.as_ref());
        let touched_before = touched::images(tx, keys(&touches)).await?;
        touched::advance(tx, &touched_before);
        let attempt = Attempt {
            hook: Hook::BeforeExecute,
            command: self.info.id,
            kind: self.info.kind,
            id,
            input: Some(self.command),
            entry: None,
            before: before.as_ref(),
            after: None,
            changes: None,
        };
        interceptor::run(tx, &attempt).await?;
        let output = self.command.apply(tx).await?;
        let after = self.entity.images(tx, &[id], self.info.depth()).await?.remove(&id);
        if before.is_none() {
            *place = Place::of(tx.context(), self.entity, after.as_ref());
        }
        let step = Transition {
            id,
            from: before.as_ref(),
            to: after.as_ref(),
            restoring: false,
        };
        self.entity.guard(tx, &step).await?;
        self.entity.settled(tx, &step).await?;
        let touched_after = touched::images(tx, keys(&touches)).await?;
        touched::judge(tx, &touched_before, &touched_after, false).await?;
        let mut changes = changes::between(self.entity.fields(), before.as_ref(), after.as_ref());
        for field in tx.secrets_written() {
            changes.insert(
                (*field).to_owned(),
                json!({"from": Value::Null, "to": Value::Null, "redacted": true}),
            );
        }
        let attempt = Attempt {
            hook: Hook::AfterExecute,
            after: after.as_ref(),
            changes: Some(&changes),
            ..attempt
        };
        interceptor::run(tx, &attempt).await?;
        let answer = answer(output);
        let (touched_keys, touched_events) = touched::changed(tx, &touched_before, &touched_after)?;
        let differs = before.is_some() != after.is_some() || !changes.is_empty() || !touched_keys.is_empty();
        if !differs && matches!(self.info.class, Class::Edit | Class::Assign) {
            return Ok(Done {
                answer,
                operation: None,
                changed: false,
                log_id: Uuid::nil(),
            });
        }
        for event in touched_events {
            tx.emit(event);
        }
        let log_id = tx.new_id();
        let touched = touched::record(tx, log_id, &touched_keys, &touched_before, &touched_after).await?;
        let change = Change {
            log_id,
            id,
            before,
            after,
            changes,
            touched,
        };
        let operation = self.record(tx, change).await?;
        Ok(Done {
            answer,
            operation,
            changed: true,
            log_id,
        })
    }

    async fn lock_and_load(&self, tx: &mut Tx<'_>, id: Uuid, touches: &[EntityRef]) -> Result<Option<Snapshot>> {
        let is_new = matches!(self.command.target(), Target::New { .. });
        let own = (!is_new).then_some(EntityRef {
            kind: self.info.kind,
            id,
        });
        let all: Vec<EntityRef> = own.into_iter().chain(touches.iter().cloned()).collect();
        let located = touched::lock(tx, &all).await?;
        if let Some((_, first)) = located.first()
            && (located.iter().any(|(_, one)| one.tenant != first.tenant) || (is_new && first.tenant != tx.tenant()))
        {
            return Err(Refusal::not_found(self.entity.not_found()).into());
        }
        if is_new {
            check_expected(tx.context(), None)?;
            return Ok(None);
        }
        if let Some((_, first)) = located.first() {
            tx.set_tenant(first.tenant);
        }
        let mut snapshots = self.entity.images(tx, &[id], self.info.depth()).await?;
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
            touched,
        } = change;
        let overwrote_secret = !tx.secrets_written().is_empty() && self.info.class != Class::Create;
        let (before, after, truncated) = within_limit(tx, &self.info, before, after);
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
            place: None,
            touched,
            dropped: Vec::new(),
            truncated,
            events: tx.take_events(),
        };
        log::write(tx, &self.info, self.entity, entry).await?;
        Ok(token.map(|token| operation(&self.info, History::None, &token, id, tx)))
    }
}

/// The images as they are kept: without the children when they would be too long, which the last value says.
pub(super) fn within_limit(
    tx: &Tx<'_>,
    info: &CommandInfo,
    before: Option<Snapshot>,
    after: Option<Snapshot>,
) -> (Option<Snapshot>, Option<Snapshot>, bool) {
    let limit = tx.context().platform().audit().snapshot.max_bytes;
    let too_long = |image: &Snapshot| image.to_value().to_string().len() > limit;
    if info.depth() == Depth::Tree && [&before, &after].into_iter().flatten().any(too_long) {
        let bare = |image: Option<Snapshot>| image.map(Snapshot::without_children);
        return (bare(before), bare(after), true);
    }
    (before, after, false)
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
    Err(Refusal::conflict("record_modified")
        .code("optimistic_lock_conflict")
        .with("currentUpdatedAt", json!(current))
        .with("expectedUpdatedAt", json!(expected))
        .into())
}
