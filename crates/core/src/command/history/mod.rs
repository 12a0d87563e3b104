//! Undo and redo: restore the snapshots of an entry, after checking that nothing has changed since.

mod conflicts;
mod entry;
mod latest;
mod restore;
mod stack;

use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use uuid::Uuid;

pub use self::conflicts::fields_of_constraint;
use self::conflicts::{conflict, violated};
use self::entry::Claimed;
use self::restore::restore;
use super::affected::{self, AffectedResource, Direction};
use super::deferred;
use super::execute::{entity, operation, record_failure};
use super::interceptor::{self, Hook, InterceptorContext};
use super::log::{self, EntryLocation, Failure, History, NewEntry, Versions};
use super::snapshot::Snapshot;
use super::steps::stored;
use super::token::UndoToken;
use super::versions::Key;
use super::{CommandInfo, CommandResponse, changes, idempotency};
use crate::acl::Feature;
use crate::backoff::Collisions;
use crate::command::tx::Tx;
use crate::context::RequestContext;
use crate::db::Recurring;
use crate::db::audit_action_logs as logs;
use crate::error::{Error, Rejection, Result};
use crate::events::Event;
use crate::scope::Scope;

/// The result of an undo or redo.
#[derive(Debug, Clone)]
pub struct HistoryOutcome {
    /// The entry that was undone or redone.
    pub source_log_id: Uuid,
    /// The entry that the undo or redo wrote.
    pub log_id: Uuid,
    /// The new token of a redo.
    pub undo_token: Option<String>,
}

impl Direction {
    /// Creates the error U of the specification: the same bytes for every reason.
    fn unavailable(self) -> Error {
        Rejection::bad_request(match self {
            Self::Undo => "Undo token not available",
            Self::Redo => "Redo target not available",
        })
        .into()
    }

    /// Creates the error for changed fields: an undo reports them; a redo is only unavailable.
    fn changed(self, fields: Vec<String>) -> Error {
        match self {
            Self::Undo => conflict(fields),
            Self::Redo => self.unavailable(),
        }
    }

    fn history(self, source: Uuid) -> History {
        match self {
            Self::Undo => History::Undo { source },
            Self::Redo => History::Redo { source },
        }
    }
}

/// Checks deferred keys now, while a violation can still be reported as a conflict; at the commit it would be a failure.
async fn check_constraints(tx: &mut Tx<'_>, claimed: &Claimed<'_>) -> Result<()> {
    let checked = tx.conn().batch_execute("set constraints all immediate").await;
    checked.map_err(|error| violated(tx, error.into(), claimed))
}

pub(in crate::command) async fn undo<A: CommandResponse>(
    context: &RequestContext,
    token: &str,
    others: Feature,
    response: impl Fn(HistoryOutcome) -> A + Send + Sync,
) -> Result<A> {
    let Some(token) = UndoToken::parse(token) else {
        return Err(Rejection::bad_request("Invalid undo token").into());
    };
    run(
        Request {
            unfiltered: context.clone(),
            direction: Direction::Undo,
            log_id: token.log_id,
            token: Some(token),
            others,
        },
        response,
    )
    .await
}

pub(in crate::command) async fn redo<A: CommandResponse>(
    context: &RequestContext,
    log_id: Uuid,
    others: Feature,
    response: impl Fn(HistoryOutcome) -> A + Send + Sync,
) -> Result<A> {
    run(
        Request {
            unfiltered: context.clone(),
            direction: Direction::Redo,
            log_id,
            token: None,
            others,
        },
        response,
    )
    .await
}

struct Request {
    /// The context before [`Request::filtered`] limits it to the command of the entry: other entries have other commands.
    unfiltered: RequestContext,
    direction: Direction,
    log_id: Uuid,
    token: Option<UndoToken>,
    others: Feature,
}

/// The properties of a restore that are known once its entry was found.
struct Found {
    info: CommandInfo,
    resource: Uuid,
    location: EntryLocation,
}

async fn run<A: CommandResponse>(
    mut request: Request,
    response: impl Fn(HistoryOutcome) -> A + Send + Sync,
) -> Result<A> {
    if request.is_beside_selection().await? {
        request.unfiltered = request.unfiltered.with_scope(Scope::system());
    }
    let context = &request.filtered().await?;
    let mut collisions = Collisions::default();
    loop {
        let tenant = context.scope().tenant.unwrap_or(context.identity().tenant);
        let turn = context.write_turn(tenant).await;
        let mut tx = Tx::begin(context, tenant).await?;
        let mut found = None;
        match request.run(&mut tx, &mut found, &response).await {
            Ok((response, operation)) => {
                tx.commit().await?;
                if let Some(operation) = operation {
                    context.set_operation(operation);
                }
                return Ok(response);
            }
            Err(Error::Collision(_)) if collisions.may_repeat() => {
                tx.roll_back().await;
                drop(turn);
                collisions.pause(context.ids()).await;
            }
            Err(error) => {
                let tenant = tx.tenant();
                tx.reject().await;
                if let Some(Found {
                    info,
                    resource,
                    location,
                }) = found
                {
                    let failure = Failure {
                        command: &info,
                        tenant,
                        resource,
                        history: request.direction.history(request.log_id),
                        location,
                        error: &error,
                    };
                    record_failure(context, failure).await;
                }
                return Err(error);
            }
        }
    }
}

impl Request {
    async fn run<A: CommandResponse>(
        &self,
        tx: &mut Tx<'_>,
        found: &mut Option<Found>,
        response: impl Fn(HistoryOutcome) -> A,
    ) -> Result<(A, Option<super::Operation>)> {
        idempotency::begin(tx).await?;
        let (entry, info) = self.find(tx).await?;
        let entity = entity(tx.context(), info.kind)?;
        self.check_caller(tx.context(), &entry, &info, &*entity)?;
        tx.set_tenant(entry.tenant_id);
        let claimed = self.claim(tx, entry, info, &*entity).await?;
        *found = Some(Found {
            info,
            resource: claimed.resource,
            location: claimed.entry.location(),
        });
        let (present, others) = self.present(tx, &claimed).await?;
        tx.forget_fresh();
        affected::advance(tx, &others);
        let hook = if self.direction == Direction::Undo {
            Hook::BeforeUndo
        } else {
            Hook::BeforeRedo
        };
        let changes = changes::between(entity.tracking(), present.as_ref(), claimed.requested.as_ref());
        let interception = InterceptorContext {
            hook,
            command: info.id,
            kind: info.kind,
            id: claimed.resource,
            is_affected: false,
            input: None,
            entry: Some(claimed.entry.logged()),
            before: present.as_ref(),
            after: claimed.requested.as_ref(),
            changes: Some(&changes),
        };
        interceptor::run(tx, &interception).await?;
        let requested = affected::requested(tx, &claimed.affected, self.direction)?;
        let keys: Vec<Key> = requested.keys().copied().collect();
        affected::intercept(tx, &interception, &keys, &others, &requested).await?;
        let (restored, mut dropped) = restore(tx, &claimed, present.as_ref()).await?;
        let left_out = affected::restore(tx, requested, &others).await;
        dropped.extend(left_out.map_err(|error| violated(tx, error, &claimed))?);
        check_constraints(tx, &claimed).await?;
        deferred::run(tx).await?;
        let (outcome, operation) = self.record(tx, &claimed, present, restored, dropped).await?;
        let response = response(outcome);
        if tx.context().idempotency().is_some() {
            idempotency::finish(tx, stored(&response)?, operation.as_ref()).await?;
        }
        Ok((response, operation))
    }

    async fn record(
        &self,
        tx: &mut Tx<'_>,
        claimed: &Claimed<'_>,
        present: Option<Snapshot>,
        restored: Option<Snapshot>,
        dropped: Vec<String>,
    ) -> Result<(HistoryOutcome, Option<super::Operation>)> {
        let log_id = tx.new_id();
        let (before, after) = claimed.versions;
        affected::move_back(tx, log_id, &claimed.affected, self.direction == Direction::Undo).await?;
        let (versions, token, name) = match self.direction {
            Direction::Undo => (Versions::Back(before), None, "audit_logs.action.undone"),
            Direction::Redo => {
                let token = UndoToken::new(log_id, tx.context().ids().random());
                (
                    Versions::Again { before, after },
                    Some(token),
                    "audit_logs.action.redone",
                )
            }
        };
        let history = self.direction.history(claimed.entry.id);
        // Those of hooks, interceptors and deferred work too: subscribers must be able to distinguish them from the events of commands.
        let emitted = tx.take_events().into_iter();
        let mut events: Vec<Event> = emitted.map(|event| history.mark(event)).collect();
        events.push(
            Event::new(name, log_id)
                .with("logId", claimed.entry.id.to_string())
                .with("resourceKind", claimed.info.kind)
                .with("resourceId", claimed.resource.to_string()),
        );
        let entry = NewEntry {
            id: log_id,
            resource: claimed.resource,
            before: present.as_ref(),
            after: restored.as_ref(),
            changes: changes::between(claimed.entity.tracking(), present.as_ref(), restored.as_ref()),
            versions,
            token: token.as_ref(),
            history,
            location: Some(claimed.entry.location()),
            affected: match self.direction {
                Direction::Undo => claimed
                    .affected
                    .iter()
                    .cloned()
                    .map(AffectedResource::reversed)
                    .collect(),
                Direction::Redo => claimed.affected.clone(),
            },
            dropped,
            truncated: false,
            events,
        };
        let seq = log::write(tx, &claimed.info, claimed.entity, entry).await?;
        if self.direction == Direction::Undo {
            diesel::update(
                logs::table
                    .filter(logs::tenant_id.eq(claimed.entry.tenant_id))
                    .filter(logs::id.eq(claimed.entry.id)),
            )
            .set(logs::undone_seq.eq(seq))
            .prepared()
            .execute(tx.conn())
            .await?;
        }
        let operation = token
            .as_ref()
            .map(|token| operation(&claimed.info, history, token, claimed.resource, tx));
        let outcome = HistoryOutcome {
            source_log_id: claimed.entry.id,
            log_id,
            undo_token: token.map(|token| token.to_string()),
        };
        Ok((outcome, operation))
    }
}
