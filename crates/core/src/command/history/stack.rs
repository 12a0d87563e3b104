//! The redo stack: an owner can redo only their latest redoable entry.

use std::collections::BTreeMap;
use std::sync::Arc;

use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel::{ExpressionMethods, QueryDsl, SelectableHelper};
use diesel_async::RunQueryDsl;
use time::Duration;
use uuid::Uuid;

use super::Request;
use super::entry::{Claimed, Entry};
use crate::command::affected::{self, Direction};
use crate::command::entity::{AnyEntity, Depth};
use crate::command::execute::entity;
use crate::command::snapshot::Snapshots;
use crate::command::{CommandInfo, Tx, changes, versions};
use crate::db::{Prepared, audit_action_logs as logs};
use crate::error::Result;

/// Number of entries per query. One is enough unless resources were changed outside of the log.
const PAGE: u8 = 50;

/// Three centuries, in seconds.
const LONGEST_LIFE: u64 = 10_000_000_000;

/// The resource is still in the state that the undo restored.
const NOT_MOVED_ON: &str = "exists (
    select 1 from audit_resource_versions v
    where v.tenant_id = audit_action_logs.tenant_id and v.resource_kind = audit_action_logs.resource_kind
      and v.resource_id = audit_action_logs.resource_id and v.version = audit_action_logs.version_before)";

/// An entry above the one to redo, if it could itself be redone.
struct Candidate<'a> {
    entry: &'a Entry,
    info: CommandInfo,
    resource: Uuid,
    entity: Arc<dyn AnyEntity>,
}

impl Request {
    /// Rejects the redo if an entry above could be redone.
    pub(super) async fn check_top(&self, tx: &mut Tx<'_>, claimed: &Claimed<'_>) -> Result<()> {
        let mut above = i64::MAX;
        loop {
            let page = self.entries_above(tx, &claimed.entry, above).await?;
            if self.has_eligible(tx, &page).await? {
                return Err(self.direction.unavailable());
            }
            match page.last().and_then(|last| last.undone_seq) {
                Some(last) if page.len() == usize::from(PAGE) => above = last,
                _ => return Ok(()),
            }
        }
    }

    /// Returns entries of the same owner that were undone after this one, the latest first.
    async fn entries_above(&self, tx: &mut Tx<'_>, entry: &Entry, below: i64) -> Result<Vec<Entry>> {
        let Some(undone_seq) = entry.undone_seq else {
            return Err(self.direction.unavailable());
        };
        let platform = tx.context().platform();
        let commands = platform.registry().commands();
        let undoable: Vec<&str> = commands.filter(|info| info.undoable).map(|info| info.id).collect();
        let mut query = logs::table
            .filter(logs::tenant_id.eq(entry.tenant_id))
            .filter(logs::actor_kind.eq(&entry.actor_kind))
            .filter(logs::execution_state.eq("undone"))
            .filter(logs::undone_seq.gt(undone_seq))
            .filter(logs::undone_seq.lt(below))
            .filter(logs::command_id.eq_any(undoable))
            .filter(sql::<Bool>(NOT_MOVED_ON))
            .order(logs::undone_seq.desc())
            .limit(i64::from(PAGE))
            .select(Entry::as_select())
            .into_boxed();
        query = match entry.actor_id {
            Some(actor) => query.filter(logs::actor_id.eq(actor)),
            None => query.filter(logs::actor_id.is_null()),
        };
        if let Some(seconds) = platform.audit().undo.ttl_seconds {
            // The database does not support instants before the start of its calendar.
            let life = Duration::seconds(i64::try_from(seconds.min(LONGEST_LIFE)).unwrap_or(i64::MAX));
            query = query.filter(logs::updated_at.gt(tx.now().after(-life)));
        }
        Ok(Prepared(query).load(tx.conn()).await?)
    }

    /// Whether the caller could redo one of them: they may access its organization, and its resources are as its undo left them.
    async fn has_eligible(&self, tx: &mut Tx<'_>, entries: &[Entry]) -> Result<bool> {
        let candidates = self.candidates(tx, entries)?;
        let present = own_snapshots(tx, &candidates).await?;
        let mut unchanged = Vec::new();
        for candidate in &candidates {
            let expected = candidate
                .entity
                .logged_snapshot(candidate.entry.snapshot_before.as_ref())?;
            let depth = candidate.info.depth() == Depth::Tree;
            let there = present
                .get(&(candidate.info.kind, depth))
                .and_then(|snapshots| snapshots.get(&candidate.resource));
            let fields = changes::differing(candidate.entity.tracking(), expected.as_ref(), there);
            if fields.is_empty() && expected.is_some() == there.is_some() {
                unchanged.push(candidate.entry.affected()?);
            }
        }
        if unchanged.iter().any(Vec::is_empty) {
            return Ok(true);
        }
        let all: Vec<_> = unchanged.iter().flatten().cloned().collect();
        if all.is_empty() {
            return Ok(false);
        }
        let keys = affected::keys(tx, &all)?;
        let visible = affected::lock_visible(tx, &self.unfiltered, &keys).await?;
        let versions = versions::read(tx, &keys).await?;
        let snapshots = affected::snapshots(tx, keys.iter().copied()).await?;
        for affected in &unchanged {
            let keys = affected::keys(tx, affected)?;
            if affected::are_latest(affected, &keys, &versions, Direction::Redo)
                && affected::compare(tx, affected, &keys, &snapshots, &visible, Direction::Redo)?.is_none()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn candidates<'a>(&self, tx: &Tx<'_>, entries: &'a [Entry]) -> Result<Vec<Candidate<'a>>> {
        let context = tx.context();
        let mut candidates = Vec::with_capacity(entries.len());
        for entry in entries {
            let info = context.platform().registry().find_command(&entry.command_id).copied();
            let resource = entry.resource_id.as_deref().and_then(|id| id.parse().ok());
            let (Some(info), Some(resource)) = (info, resource) else {
                continue;
            };
            if info.is_personal && !entry.is_own(context) {
                continue;
            }
            let entity = entity(context, info.kind)?;
            if entry.is_within(&self.unfiltered, &*entity, info.features, self.direction)? {
                candidates.push(Candidate {
                    entry,
                    info,
                    resource,
                    entity,
                });
            }
        }
        Ok(candidates)
    }
}

/// Loads the present snapshots of the resources, by kind and whether they are deep: one statement for each such pair.
async fn own_snapshots(
    tx: &mut Tx<'_>,
    candidates: &[Candidate<'_>],
) -> Result<BTreeMap<(&'static str, bool), Snapshots>> {
    let mut requested: BTreeMap<(&'static str, bool), Vec<Uuid>> = BTreeMap::new();
    for one in candidates {
        let ids = requested
            .entry((one.info.kind, one.info.depth() == Depth::Tree))
            .or_default();
        if !ids.contains(&one.resource) {
            ids.push(one.resource);
        }
    }
    let mut snapshots = BTreeMap::new();
    for ((kind, tree), ids) in requested {
        let depth = if tree { Depth::Tree } else { Depth::Own };
        let found = entity(tx.context(), kind)?.snapshots(tx, &ids, depth).await?;
        snapshots.insert((kind, tree), found);
    }
    Ok(snapshots)
}
