//! Undo and redo: the images of an entry are restored, after it is certain that nothing has changed since.

use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel::{
    ExpressionMethods, OptionalExtension, QueryDsl, Queryable, QueryableByName, Selectable, SelectableHelper, sql_query,
};
use diesel_async::RunQueryDsl;
use serde_json::{Value, json};
use time::Duration;
use uuid::Uuid;

use super::entity::{AnyEntity, Transition};
use super::execute::{entity, operation, pause, record_failure};
use super::interceptor::{self, Attempt, Hook};
use super::log::{self, History, NewEntry, Versions};
use super::snapshot::Snapshot;
use super::token::UndoToken;
use super::{CommandInfo, changes, idempotency, moved_forward};
use crate::context::RequestContext;
use crate::db::{Tx, audit_action_logs as logs};
use crate::error::{Error, Refusal, Result};
use crate::events::Event;
use crate::http::Answer;
use crate::time::Timestamp;

/// What an undo or redo did.
#[derive(Debug, Clone)]
pub struct HistoryOutcome {
    /// The entry that was undone or redone.
    pub source_log_id: Uuid,
    /// The entry that the undo or redo wrote.
    pub log_id: Uuid,
    /// The fresh token of a redo.
    pub undo_token: Option<String>,
}

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = logs, check_for_backend(diesel::pg::Pg))]
struct Entry {
    tenant_id: Uuid,
    id: Uuid,
    organization_id: Option<Uuid>,
    actor_kind: String,
    actor_id: Option<Uuid>,
    command_id: String,
    resource_id: Option<String>,
    execution_state: String,
    version_before: Option<i64>,
    version_after: Option<i64>,
    undo_secret: Option<Vec<u8>>,
    undo_expires_at: Option<Timestamp>,
    undone_seq: Option<i64>,
    snapshot_before: Option<Value>,
    snapshot_after: Option<Value>,
    updated_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Undo,
    Redo,
}

impl Direction {
    /// U of the specification: the same bytes for every reason.
    fn unavailable(self) -> Error {
        Refusal::bad_request(match self {
            Self::Undo => "Undo token not available",
            Self::Redo => "Redo target not available",
        })
        .into()
    }

    fn history(self, source: Uuid) -> History {
        match self {
            Self::Undo => History::Undo { source },
            Self::Redo => History::Redo { source },
        }
    }
}

/// C of the specification.
fn conflict(fields: Vec<String>) -> Error {
    Refusal::bad_request("The record has changed since this action")
        .code("undo_conflict")
        .with("fields", json!(fields))
        .into()
}

pub(crate) async fn undo<A: Answer>(
    context: &RequestContext,
    token: &str,
    others: bool,
    answer: impl Fn(HistoryOutcome) -> A + Send + Sync,
) -> Result<A> {
    let Some(token) = UndoToken::parse(token) else {
        return Err(Refusal::bad_request("Invalid undo token").into());
    };
    run(
        context,
        Request {
            direction: Direction::Undo,
            log_id: token.log_id,
            token: Some(token),
            others,
        },
        answer,
    )
    .await
}

pub(crate) async fn redo<A: Answer>(
    context: &RequestContext,
    log_id: Uuid,
    others: bool,
    answer: impl Fn(HistoryOutcome) -> A + Send + Sync,
) -> Result<A> {
    run(
        context,
        Request {
            direction: Direction::Redo,
            log_id,
            token: None,
            others,
        },
        answer,
    )
    .await
}

struct Request {
    direction: Direction,
    log_id: Uuid,
    token: Option<UndoToken>,
    others: bool,
}

async fn run<A: Answer>(
    context: &RequestContext,
    request: Request,
    answer: impl Fn(HistoryOutcome) -> A + Send + Sync,
) -> Result<A> {
    let mut repeats = 0;
    loop {
        let tenant = context.scope().tenant.unwrap_or(context.identity().tenant);
        let mut tx = Tx::begin(context, tenant).await?;
        let mut found = None;
        match request.run(&mut tx, &mut found, &answer).await {
            Ok((answer, operation)) => {
                tx.commit().await?;
                if let Some(operation) = operation {
                    context.set_operation(operation);
                }
                return Ok(answer);
            }
            Err(Error::Collision(_)) if repeats < 3 => {
                tx.roll_back().await;
                repeats += 1;
                pause(context, repeats).await;
            }
            Err(error) => {
                let tenant = tx.tenant();
                tx.roll_back().await;
                if let (Error::Internal(_), Some((info, resource))) = (&error, found) {
                    let history = request.direction.history(request.log_id);
                    record_failure(context, &info, tenant, resource, history).await;
                }
                return Err(error);
            }
        }
    }
}

/// An entry that passed the checks on its caller.
struct Claimed<'a> {
    entry: Entry,
    info: CommandInfo,
    resource: Uuid,
    entity: &'a dyn AnyEntity,
    /// What should be there now, and what will be.
    expected: Option<Snapshot>,
    wanted: Option<Snapshot>,
    versions: (i64, i64),
}

impl Request {
    async fn run<A: Answer>(
        &self,
        tx: &mut Tx<'_>,
        found: &mut Option<(CommandInfo, Uuid)>,
        answer: impl Fn(HistoryOutcome) -> A,
    ) -> Result<(A, Option<super::Operation>)> {
        idempotency::begin(tx).await?;
        let (entry, info) = self.find(tx).await?;
        self.check_caller(tx.context(), &entry, &info)?;
        tx.set_tenant(entry.tenant_id);
        let entity = entity(tx.context(), info.kind)?;
        let claimed = self.claim(tx, entry, info, &*entity).await?;
        *found = Some((info, claimed.resource));
        let present = self.present(tx, &claimed).await?;
        let hook = if self.direction == Direction::Undo {
            Hook::BeforeUndo
        } else {
            Hook::BeforeRedo
        };
        let attempt = Attempt {
            hook,
            command: info.id,
            kind: info.kind,
            id: claimed.resource,
            before: present.as_ref(),
            after: claimed.wanted.as_ref(),
        };
        interceptor::run(tx, &attempt).await?;
        let (restored, dropped) = restore(tx, &claimed, present.as_ref()).await?;
        let (outcome, operation) = self.record(tx, &claimed, present, restored, dropped).await?;
        let answer = answer(outcome);
        idempotency::finish(tx, &answer, operation.as_ref()).await?;
        Ok((answer, operation))
    }

    /// Check 4: the entry is there, open for this direction, and its command can be undone.
    async fn find(&self, tx: &mut Tx<'_>) -> Result<(Entry, CommandInfo)> {
        let unavailable = || self.direction.unavailable();
        let scope = tx.scope();
        let entry: Option<Entry> = logs::table
            .filter(scope.owns(logs::tenant_id))
            .filter(logs::id.eq(self.log_id))
            .select(Entry::as_select())
            .first(tx.conn())
            .await
            .optional()?;
        let entry = entry.ok_or_else(unavailable)?;
        let open = match (&self.token, self.direction) {
            (Some(token), Direction::Undo) => {
                let secret = entry.undo_secret.as_deref().unwrap_or(&[0; 32]);
                token.opens(secret) && entry.undo_secret.is_some() && entry.execution_state == "done"
            }
            _ => entry.execution_state == "undone",
        };
        let info = tx
            .context()
            .platform()
            .registry()
            .find_command(&entry.command_id)
            .copied();
        match info {
            Some(info) if info.undoable && open && !self.expired(tx, &entry) => Ok((entry, info)),
            _ => Err(unavailable()),
        }
    }

    fn expired(&self, tx: &Tx<'_>, entry: &Entry) -> bool {
        let until = match self.direction {
            Direction::Undo => entry.undo_expires_at,
            Direction::Redo => tx.context().platform().audit().undo.ttl_seconds.map(|seconds| {
                entry
                    .updated_at
                    .after(Duration::seconds(i64::try_from(seconds).unwrap_or(i64::MAX)))
            }),
        };
        until.is_some_and(|until| until <= tx.now())
    }

    /// Checks 5 to 7: owner, organization, the features of the original command.
    fn check_caller(&self, context: &RequestContext, entry: &Entry, info: &CommandInfo) -> Result<()> {
        let identity = context.identity();
        let own = entry.actor_kind == identity.kind.as_str() && entry.actor_id == identity.id && identity.id.is_some();
        if !own && !self.others {
            return Err(self.direction.unavailable());
        }
        let within = match entry.organization_id {
            Some(organization) => context.scope().reads_organization(Some(organization)),
            None => own || context.scope().organizations.is_none(),
        };
        if !within {
            return Err(Refusal::forbidden("Organization scope violation").into());
        }
        context.require_ids(&info.feature_ids())
    }

    /// The gate: only one transaction gets the entry; others wait for it and then find it gone.
    async fn claim<'a>(
        &self,
        tx: &mut Tx<'_>,
        entry: Entry,
        info: CommandInfo,
        entity: &'a dyn AnyEntity,
    ) -> Result<Claimed<'a>> {
        let (from, to) = match self.direction {
            Direction::Undo => ("done", "undone"),
            Direction::Redo => ("undone", "redone"),
        };
        let now = tx.now();
        let gate = diesel::update(
            logs::table
                .filter(logs::tenant_id.eq(entry.tenant_id))
                .filter(logs::id.eq(entry.id))
                .filter(logs::execution_state.eq(from)),
        )
        .set((
            logs::execution_state.eq(to),
            logs::undo_secret.eq(None::<Vec<u8>>),
            logs::updated_at.eq(now),
        ))
        .execute(tx.conn())
        .await?;
        let resource = entry.resource_id.as_deref().and_then(|id| id.parse().ok());
        let (Some(resource), Some(before), Some(after), 1) =
            (resource, entry.version_before, entry.version_after, gate)
        else {
            return Err(self.direction.unavailable());
        };
        let image = |value: &Option<Value>| value.clone().map(Snapshot::from_value).transpose();
        let (older, newer) = (image(&entry.snapshot_before)?, image(&entry.snapshot_after)?);
        let (expected, wanted) = if self.direction == Direction::Undo {
            (newer, older)
        } else {
            (older, newer)
        };
        Ok(Claimed {
            entry,
            info,
            resource,
            entity,
            expected,
            wanted,
            versions: (before, after),
        })
    }

    /// Checks 8 and 9: the entry is the latest of its resource, and the resource is as the entry left it.
    async fn present(&self, tx: &mut Tx<'_>, claimed: &Claimed<'_>) -> Result<Option<Snapshot>> {
        let located = claimed.entity.lock(tx, &[claimed.resource]).await?;
        let expected_version = match self.direction {
            Direction::Undo => claimed.versions.1,
            Direction::Redo => claimed.versions.0,
        };
        if lock_version(tx, claimed.info.kind, claimed.resource).await? != expected_version {
            return Err(self.direction.unavailable());
        }
        let mut snapshots = claimed
            .entity
            .images(tx, &[claimed.resource], claimed.info.depth())
            .await?;
        tx.set_now(moved_forward(tx.now(), &snapshots));
        let present = snapshots.remove(&claimed.resource);
        if present.is_some() && located.is_empty() {
            // It is there, but the caller may not see it.
            return Err(self.direction.unavailable());
        }
        let fields = changes::differing(claimed.entity.fields(), claimed.expected.as_ref(), present.as_ref());
        if !fields.is_empty() || claimed.expected.is_some() != present.is_some() {
            return Err(match self.direction {
                Direction::Undo => conflict(fields),
                Direction::Redo => self.direction.unavailable(),
            });
        }
        if self.direction == Direction::Redo {
            self.check_top(tx, claimed).await?;
        }
        Ok(present)
    }

    /// Only the owner's latest eligible undone entry may be redone.
    async fn check_top(&self, tx: &mut Tx<'_>, claimed: &Claimed<'_>) -> Result<()> {
        let entry = &claimed.entry;
        let Some(undone_seq) = entry.undone_seq else {
            return Err(self.direction.unavailable());
        };
        let mut query = logs::table
            .filter(logs::tenant_id.eq(entry.tenant_id))
            .filter(logs::actor_kind.eq(&entry.actor_kind))
            .filter(logs::execution_state.eq("undone"))
            .filter(logs::undone_seq.gt(undone_seq))
            .filter(tx.scope().within(logs::organization_id))
            .order(logs::undone_seq.desc())
            .select(Entry::as_select())
            .into_boxed();
        query = match entry.actor_id {
            Some(actor) => query.filter(logs::actor_id.eq(actor)),
            None => query.filter(logs::actor_id.is_null()),
        };
        let later: Vec<Entry> = query.load(tx.conn()).await?;
        for other in later {
            if self.is_eligible(tx, &other).await? {
                return Err(self.direction.unavailable());
            }
        }
        Ok(())
    }

    async fn is_eligible(&self, tx: &mut Tx<'_>, entry: &Entry) -> Result<bool> {
        let info = tx
            .context()
            .platform()
            .registry()
            .find_command(&entry.command_id)
            .copied();
        let resource = entry.resource_id.as_deref().and_then(|id| id.parse::<Uuid>().ok());
        let (Some(info), Some(resource), Some(version)) = (info, resource, entry.version_before) else {
            return Ok(false);
        };
        if !info.undoable || self.expired(tx, entry) || lock_version(tx, info.kind, resource).await? != version {
            return Ok(false);
        }
        let entity = entity(tx.context(), info.kind)?;
        let present = entity.images(tx, &[resource], info.depth()).await?.remove(&resource);
        let expected = entry.snapshot_before.clone().map(Snapshot::from_value).transpose()?;
        Ok(expected.is_some() == present.is_some()
            && changes::differing(entity.fields(), expected.as_ref(), present.as_ref()).is_empty())
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
        let mut events = tx.take_events();
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
            changes: changes::between(claimed.entity.fields(), present.as_ref(), restored.as_ref()),
            versions,
            token: token.as_ref(),
            history: self.direction.history(claimed.entry.id),
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
            .execute(tx.conn())
            .await?;
        }
        let operation = token
            .as_ref()
            .map(|token| operation(&claimed.info, token, claimed.resource, tx));
        let outcome = HistoryOutcome {
            source_log_id: claimed.entry.id,
            log_id,
            undo_token: token.map(|token| token.to_string()),
        };
        Ok((outcome, operation))
    }
}

/// Check 11: restores the image and lets the entity's guard and the constraints judge it.
async fn restore(
    tx: &mut Tx<'_>,
    claimed: &Claimed<'_>,
    present: Option<&Snapshot>,
) -> Result<(Option<Snapshot>, Vec<String>)> {
    let (entity, id) = (claimed.entity, claimed.resource);
    let written = match &claimed.wanted {
        Some(wanted) => entity.store(tx, std::slice::from_ref(wanted)).await,
        None => entity.remove(tx, &[id]).await.map(|()| Vec::new()),
    };
    let dropped = written.map_err(|error| match error.violated_constraint() {
        Some(constraint) => conflict(vec![constraint.to_owned()]),
        None => error,
    })?;
    let restored = entity.images(tx, &[id], claimed.info.depth()).await?.remove(&id);
    let fields: Vec<String> = changes::differing(entity.fields(), claimed.wanted.as_ref(), restored.as_ref())
        .into_iter()
        .filter(|_| dropped.is_empty())
        .collect();
    if !fields.is_empty() || claimed.wanted.is_some() != restored.is_some() {
        return Err(conflict(fields));
    }
    let step = Transition {
        id,
        from: present,
        to: restored.as_ref(),
        restoring: true,
    };
    entity.guard(tx, &step).await?;
    entity.settled(tx, &step).await?;
    Ok((restored, dropped))
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = BigInt)]
    version: i64,
}

/// The version of a resource, its row locked; 0 when there is none.
async fn lock_version(tx: &mut Tx<'_>, kind: &str, resource: Uuid) -> Result<i64> {
    let tenant = tx.tenant();
    let version: Option<Version> = sql_query(
        "select version from audit_resource_versions \
         where tenant_id = $1 and resource_kind = $2 and resource_id = $3 for update",
    )
    .bind::<SqlUuid, _>(tenant)
    .bind::<Text, _>(kind)
    .bind::<Text, _>(resource.to_string())
    .get_result(tx.conn())
    .await
    .optional()?;
    Ok(version.map_or(0, |row| row.version))
}
