//! Affected resources: further resources that a command changes besides its own. The bus locks, snapshots, validates, logs and restores them
//! like the command's own resource, so that even a command over several resources needs no inverse of its own.

use std::collections::{BTreeMap, BTreeSet};

use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use time::Duration;
use uuid::Uuid;

use super::changes;
use super::entity::{AnyEntity, Depth, EntityRef, LockedRow, Locker, Transition};
use super::execute::entity;
use super::interceptor::{self, InterceptorContext};
use super::snapshot::{Snapshot, Snapshots};
use super::tx::{Tx, entered_organization};
use super::versions::{self, Key};
use crate::context::RequestContext;
use crate::db::Recurring;
use crate::error::{Rejection, Result};
use crate::events::Event;
use crate::time::Timestamp;

/// Snapshots of several resources by kind and id; an absent resource has `None`.
pub(super) type SnapshotsByKey = BTreeMap<Key, Option<Snapshot>>;

/// An affected resource as stored in the log entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AffectedResource {
    pub(super) kind: String,
    pub(super) id: Uuid,
    pub(super) version_before: i64,
    pub(super) version_after: i64,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

fn by_kind(refs: impl Iterator<Item = Key>) -> BTreeMap<&'static str, BTreeSet<Uuid>> {
    let mut kinds: BTreeMap<&'static str, BTreeSet<Uuid>> = BTreeMap::new();
    for (kind, id) in refs {
        kinds.entry(kind).or_default().insert(id);
    }
    kinds
}

/// Locks resources by kind, then id, so that two commands over the same ones can't deadlock. Rejects resources that are missing or that the
/// caller may not see.
pub(super) async fn lock(tx: &mut Tx<'_>, refs: &[EntityRef]) -> Result<Vec<LockedRow>> {
    let mut locked_rows = Vec::with_capacity(refs.len());
    for (kind, ids) in by_kind(refs.iter().map(|one| (one.kind, one.id))) {
        let entity = entity(tx.context(), kind)?;
        let requested: Vec<Uuid> = ids.into_iter().collect();
        let found = entity.lock(tx.locker(), &requested).await?;
        locked_rows.extend(all_found(&*entity, &requested, found)?);
    }
    Ok(locked_rows)
}

/// Rejects a lock that did not find every resource.
pub(super) fn all_found(entity: &dyn AnyEntity, requested: &[Uuid], found: Vec<LockedRow>) -> Result<Vec<LockedRow>> {
    if requested.iter().all(|id| found.iter().any(|one| one.id == *id)) {
        return Ok(found);
    }
    Err(Rejection::not_found(entity.not_found()).into())
}

/// Loads the present snapshots: one statement per table, for any number of resources.
pub(super) async fn snapshots(tx: &mut Tx<'_>, keys: impl Iterator<Item = Key>) -> Result<SnapshotsByKey> {
    let mut snapshots = SnapshotsByKey::new();
    for (kind, ids) in by_kind(keys) {
        let ids: Vec<Uuid> = ids.into_iter().collect();
        let mut found: Snapshots = entity(tx.context(), kind)?.snapshots(tx, &ids, Depth::Own).await?;
        snapshots.extend(ids.into_iter().map(|id| ((kind, id), found.remove(&id))));
    }
    Ok(snapshots)
}

/// Moves the instant of the transaction past the `updatedAt` of the resources.
pub(super) fn advance(tx: &mut Tx<'_>, snapshots: &SnapshotsByKey) {
    let now = snapshots.values().flatten().filter_map(Snapshot::updated_at);
    let now = now
        .map(|at| at.after(Duration::MILLISECOND))
        .fold(tx.now(), Timestamp::max);
    tx.set_now(now);
}

/// Lets each entity validate its transition and run its after transition hook.
pub(super) async fn validate(
    tx: &mut Tx<'_>,
    before: &SnapshotsByKey,
    after: &SnapshotsByKey,
    restoring: bool,
) -> Result<()> {
    for (key @ (kind, id), to) in after {
        let step = Transition {
            id: *id,
            from: before.get(key).and_then(Option::as_ref),
            to: to.as_ref(),
            restoring,
        };
        let entity = entity(tx.context(), kind)?;
        entity.guard(tx, &step).await?;
        entity.after_transition(tx, &step).await?;
    }
    Ok(())
}

/// Runs the interceptors of a command for affected resources that change, as they ran for its own resource.
pub(super) async fn intercept(
    tx: &mut Tx<'_>,
    own: &InterceptorContext<'_>,
    keys: &[Key],
    before: &SnapshotsByKey,
    after: &SnapshotsByKey,
) -> Result<()> {
    for key @ (kind, id) in keys {
        let before = before.get(key).and_then(Option::as_ref);
        let after = after.get(key).and_then(Option::as_ref);
        let changes = changes::between(entity(tx.context(), kind)?.tracking(), before, after);
        let interception = InterceptorContext {
            kind,
            id: *id,
            is_affected: true,
            before,
            after,
            changes: Some(&changes),
            ..*own
        };
        interceptor::run(tx, &interception).await?;
    }
    Ok(())
}

/// Returns the resources that differ, with an event for each.
pub(super) fn changed(tx: &Tx<'_>, before: &SnapshotsByKey, after: &SnapshotsByKey) -> Result<(Vec<Key>, Vec<Event>)> {
    let (mut keys, mut events) = (Vec::new(), Vec::new());
    for (key @ (kind, id), to) in after {
        let from = before.get(key).and_then(Option::as_ref);
        let entity = entity(tx.context(), kind)?;
        if from.is_some() == to.is_some() && changes::differing(entity.tracking(), from, to.as_ref()).is_empty() {
            continue;
        }
        let verb = match (from, to) {
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "updated",
        };
        keys.push(*key);
        let shown = to.as_ref().or(from);
        let mut event = Event::new(format!("{kind}.{verb}"), *id)
            .with_fields(shown.map(|snapshot| entity.event_fields(snapshot)).unwrap_or_default())
            .in_organization(shown.and_then(Snapshot::organization));
        if let Some(audience) = shown.and_then(|snapshot| entity.audience(snapshot)) {
            event = event.for_principal(audience);
        }
        events.push(event.shown_to_viewers(entity.view()));
    }
    Ok((keys, events))
}

#[derive(QueryableByName)]
struct Moved {
    #[diesel(sql_type = Text)]
    resource_kind: String,
    #[diesel(sql_type = Text)]
    resource_id: String,
    #[diesel(sql_type = BigInt)]
    version_before: i64,
    #[diesel(sql_type = BigInt)]
    version: i64,
}

/// Moves the versions of affected resources, each to its next number or to a given one. One statement.
async fn move_versions(tx: &mut Tx<'_>, log_id: Uuid, moves: &[(String, Uuid, Option<i64>)]) -> Result<Vec<Moved>> {
    let (tenant, now) = (tx.tenant(), tx.now());
    let ids: Vec<Uuid> = moves.iter().map(|_| tx.new_id()).collect();
    Ok(sql_query(
        "with wanted as (
            select * from unnest($1, $2, $3, $4) as w (row_id, kind, resource, version)
        ), moved as (
            insert into audit_resource_versions as v
                (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
            select $5, w.row_id, w.kind, w.resource, 1, 1, $6, $7, $7 from wanted w
            on conflict (tenant_id, resource_kind, resource_id) do update set
                version = coalesce(
                    (select w.version from wanted w where w.kind = v.resource_kind and w.resource = v.resource_id),
                    v.max_version + 1),
                max_version = case
                    when exists (
                        select 1 from wanted w
                        where w.kind = v.resource_kind and w.resource = v.resource_id and w.version is not null)
                    then v.max_version else v.max_version + 1 end,
                last_log_id = $6, updated_at = $7
            returning resource_kind, resource_id, version
        )
        select m.resource_kind, m.resource_id, m.version, coalesce(
            (select v.version from audit_resource_versions v
             where v.tenant_id = $5 and v.resource_kind = m.resource_kind and v.resource_id = m.resource_id), 0) as version_before
        from moved m",
    )
    .bind::<Array<SqlUuid>, _>(ids)
    .bind::<Array<Text>, _>(moves.iter().map(|(kind, ..)| kind.clone()).collect::<Vec<_>>())
    .bind::<Array<Text>, _>(moves.iter().map(|(_, id, _)| id.to_string()).collect::<Vec<_>>())
    .bind::<Array<Nullable<BigInt>>, _>(moves.iter().map(|(.., version)| *version).collect::<Vec<_>>())
    .bind::<SqlUuid, _>(tenant)
    .bind::<SqlUuid, _>(log_id)
    .bind::<Timestamptz, _>(now)
    .prepared()
    .load(tx.conn())
    .await?)
}

/// Moves the affected resources to their next versions and returns what the log entry stores of them.
pub(super) async fn record(
    tx: &mut Tx<'_>,
    log_id: Uuid,
    keys: &[Key],
    before: &SnapshotsByKey,
    after: &SnapshotsByKey,
) -> Result<Vec<AffectedResource>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let moves: Vec<_> = keys.iter().map(|(kind, id)| ((*kind).to_owned(), *id, None)).collect();
    let moved = move_versions(tx, log_id, &moves).await?;
    let snapshot =
        |snapshots: &SnapshotsByKey, key: &Key| snapshots.get(key).and_then(Option::as_ref).map(Snapshot::to_value);
    let affected = keys.iter().filter_map(|key| {
        let id = key.1.to_string();
        let row = moved
            .iter()
            .find(|row| row.resource_kind == key.0 && row.resource_id == id)?;
        Some(AffectedResource {
            kind: key.0.to_owned(),
            id: key.1,
            version_before: row.version_before,
            version_after: row.version,
            before: snapshot(before, key),
            after: snapshot(after, key),
        })
    });
    Ok(affected.collect())
}

/// Moves the versions to those that a restore returns to.
pub(super) async fn move_back(
    tx: &mut Tx<'_>,
    log_id: Uuid,
    affected: &[AffectedResource],
    undoing: bool,
) -> Result<()> {
    if affected.is_empty() {
        return Ok(());
    }
    let to = |one: &AffectedResource| if undoing { one.version_before } else { one.version_after };
    let moves: Vec<_> = affected
        .iter()
        .map(|one| (one.kind.clone(), one.id, Some(to(one))))
        .collect();
    move_versions(tx, log_id, &moves).await?;
    Ok(())
}

/// Direction of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the snapshots after to the snapshots before.
    Undo,
    /// From the snapshots before to the snapshots after.
    Redo,
}

impl AffectedResource {
    /// Returns the same step in the other direction, for the log entry of an undo.
    pub(super) fn reversed(self) -> Self {
        Self {
            version_before: self.version_after,
            version_after: self.version_before,
            before: self.after,
            after: self.before,
            ..self
        }
    }

    /// Returns the snapshot that must be present, and the one to restore.
    fn step(&self, entity: &dyn AnyEntity, direction: Direction) -> Result<(Option<Snapshot>, Option<Snapshot>)> {
        let (before, after) = (
            entity.logged_snapshot(self.before.as_ref())?,
            entity.logged_snapshot(self.after.as_ref())?,
        );
        Ok(match direction {
            Direction::Undo => (after, before),
            Direction::Redo => (before, after),
        })
    }
}

/// Returns the registered kind for a name read from a log entry.
fn known_kind(tx: &Tx<'_>, kind: &str) -> Result<&'static str> {
    Ok(entity(tx.context(), kind)?.kind())
}

/// The obstacle to restoring affected resources.
pub(super) enum Obstacle {
    /// The caller may not see one of them, or it was deleted since together with another record.
    Unavailable,
    /// One of them differs from the state that the entry left, in these fields.
    Differs(Vec<String>),
}

/// Returns the keys of the resources of an entry.
pub(super) fn keys(tx: &Tx<'_>, affected: &[AffectedResource]) -> Result<Vec<Key>> {
    let key = |one: &AffectedResource| Ok((known_kind(tx, &one.kind)?, one.id));
    affected.iter().map(key).collect()
}

/// Locks the resources that exist and that the caller may see in this context, by kind, then id; returns their keys.
pub(super) async fn lock_visible(tx: &mut Tx<'_>, context: &RequestContext, keys: &[Key]) -> Result<BTreeSet<Key>> {
    let mut visible = BTreeSet::new();
    for (kind, ids) in by_kind(keys.iter().copied()) {
        let ids: Vec<Uuid> = ids.into_iter().collect();
        let locker = Locker { context, ..tx.locker() };
        let mut locked = entity(context, kind)?.lock(locker, &ids).await?;
        tx.keep_locked(&mut locked);
        visible.extend(locked.into_iter().map(|one| (kind, one.id)));
    }
    Ok(visible)
}

/// Whether none of them has changed since.
pub(super) fn are_latest(
    affected: &[AffectedResource],
    keys: &[Key],
    versions: &versions::Present,
    direction: Direction,
) -> bool {
    let expected = |one: &AffectedResource| match direction {
        Direction::Undo => one.version_after,
        Direction::Redo => one.version_before,
    };
    affected
        .iter()
        .zip(keys)
        .all(|(one, key)| versions.of(key) == expected(one))
}

/// Compares the present resources with the state that the entry left.
pub(super) fn compare(
    tx: &Tx<'_>,
    affected: &[AffectedResource],
    keys: &[Key],
    present: &SnapshotsByKey,
    visible: &BTreeSet<Key>,
    direction: Direction,
) -> Result<Option<Obstacle>> {
    for (one, key) in affected.iter().zip(keys) {
        let entity = entity(tx.context(), key.0)?;
        let (expected, _) = one.step(&*entity, direction)?;
        let there = present.get(key).and_then(Option::as_ref);
        let is_hidden = there.is_some() && !visible.contains(key);
        if is_hidden || (there.is_none() && expected.is_some()) {
            return Ok(Some(Obstacle::Unavailable));
        }
        let fields = changes::differing(entity.tracking(), expected.as_ref(), there);
        if !fields.is_empty() || expected.is_some() != there.is_some() {
            return Ok(Some(Obstacle::Differs(fields)));
        }
    }
    Ok(None)
}

/// Returns the snapshots to restore.
pub(super) fn requested(tx: &Tx<'_>, affected: &[AffectedResource], direction: Direction) -> Result<SnapshotsByKey> {
    let requested = |one: &AffectedResource| {
        let entity = entity(tx.context(), &one.kind)?;
        Ok(((entity.kind(), one.id), one.step(&*entity, direction)?.1))
    };
    affected.iter().map(requested).collect()
}

/// Restores the affected resources and lets their entities validate the transitions. Returns the fields that could not be restored.
pub(super) async fn restore(
    tx: &mut Tx<'_>,
    requested: SnapshotsByKey,
    present: &SnapshotsByKey,
) -> Result<Vec<String>> {
    let (mut dropped, mut stored, mut removed) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    let mut entered = BTreeSet::new();
    for ((kind, id), snapshot) in requested {
        let there = present.get(&(kind, id)).and_then(Option::as_ref);
        entered.extend(entered_organization(
            &*entity(tx.context(), kind)?,
            there,
            snapshot.as_ref(),
        ));
        match snapshot {
            Some(snapshot) => stored.entry(kind).or_insert_with(Vec::new).push(snapshot),
            None => removed.entry(kind).or_insert_with(Vec::new).push(id),
        }
    }
    tx.keep_entered_organizations(entered).await?;
    for (kind, ids) in &removed {
        entity(tx.context(), kind)?.remove(tx, ids).await?;
    }
    for (kind, snapshots) in &stored {
        dropped.extend(entity(tx.context(), kind)?.store(tx, snapshots).await?);
    }
    let restored = snapshots(tx, present.keys().copied()).await?;
    validate(tx, present, &restored, true).await?;
    for event in changed(tx, present, &restored)?.1 {
        tx.emit(event);
    }
    Ok(dropped)
}
