//! The entry to undo or redo, and the checks of the caller.

use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use time::Duration;
use uuid::Uuid;

use super::{Direction, Request};
use crate::acl::Feature;
use crate::command::affected::AffectedResource;
use crate::command::entity::AnyEntity;
use crate::command::log::EntryLocation;
use crate::command::snapshot::Snapshot;
use crate::command::{CommandInfo, LoggedAction, Tx};
use crate::context::RequestContext;
use crate::db::{Prepared, audit_action_logs as logs};
use crate::error::{Rejection, Result};
use crate::ids::PLATFORM_TENANT;
use crate::scope::Scope;
use crate::time::Timestamp;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = logs, check_for_backend(diesel::pg::Pg))]
pub(super) struct Entry {
    pub(super) tenant_id: Uuid,
    pub(super) id: Uuid,
    pub(super) organization_id: Option<Uuid>,
    pub(super) actor_kind: String,
    pub(super) actor_id: Option<Uuid>,
    pub(super) command_id: String,
    pub(super) resource_id: Option<String>,
    parent_resource_kind: Option<String>,
    parent_resource_id: Option<String>,
    related: Vec<String>,
    pub(super) execution_state: String,
    pub(super) version_before: Option<i64>,
    pub(super) version_after: Option<i64>,
    pub(super) undo_secret: Option<Vec<u8>>,
    pub(super) undo_expires_at: Option<Timestamp>,
    pub(super) undone_seq: Option<i64>,
    pub(super) snapshot_before: Option<Value>,
    pub(super) snapshot_after: Option<Value>,
    pub(super) touched: Option<Value>,
    created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

impl Entry {
    /// Returns the snapshots from which and to which the direction leads.
    fn snapshots(&self, direction: Direction) -> (Option<&Value>, Option<&Value>) {
        let (older, newer) = (self.snapshot_before.as_ref(), self.snapshot_after.as_ref());
        match direction {
            Direction::Undo => (newer, older),
            Direction::Redo => (older, newer),
        }
    }

    /// Whether the caller is the actor of the entry.
    pub(super) fn is_own(&self, context: &RequestContext) -> bool {
        let identity = context.identity();
        self.actor_kind == identity.kind.as_str() && self.actor_id == identity.id && identity.id.is_some()
    }

    /// Check 6: whether the caller may act in the organization of the entry.
    pub(super) fn is_within(
        &self,
        context: &RequestContext,
        entity: &dyn AnyEntity,
        features: &[Feature],
        direction: Direction,
    ) -> Result<bool> {
        let scope = context.scope();
        if scope.organizations.is_none() {
            return Ok(true);
        }
        if let (true, (None, Some(snapshot))) = (entity.is_organization(), self.snapshots(direction)) {
            let above = entity.parent(&Snapshot::from_value(snapshot.clone())?);
            return Ok(above.is_some_and(|above| scope.reads_organization(Some(above.id)))
                || self.is_granted(context, features));
        }
        Ok(match self.organization_id {
            Some(organization) => scope.reads_organization(Some(organization)),
            None => self.is_own(context),
        })
    }

    /// Whether the caller's rights name the organization itself, which is then in scope again as soon as it is restored.
    fn is_granted(&self, context: &RequestContext, features: &[Feature]) -> bool {
        let named = |organization| {
            let mut features = features.iter();
            features.all(|feature| context.rights().names(feature.id, organization))
        };
        context.scope().selected.is_none() && self.organization_id.is_some_and(named)
    }

    /// Returns the location of the entry in the log, which the entry of its undo or redo takes over.
    pub(super) fn location(&self) -> EntryLocation {
        EntryLocation {
            organization: self.organization_id,
            parent: self.parent_resource_kind.clone().zip(self.parent_resource_id.clone()),
            related: self.related.clone(),
        }
    }

    /// Returns the view of the entry for interceptors.
    pub(super) fn logged(&self) -> LoggedAction<'_> {
        LoggedAction {
            id: self.id,
            actor_kind: &self.actor_kind,
            actor_id: self.actor_id,
            organization_id: self.organization_id,
            created_at: self.created_at,
        }
    }

    /// Returns the affected resources of the command.
    pub(super) fn affected(&self) -> Result<Vec<AffectedResource>> {
        Ok(self
            .touched
            .clone()
            .map(serde_json::from_value)
            .transpose()?
            .unwrap_or_default())
    }
}

/// An entry that passed the checks of its caller.
pub(super) struct Claimed<'a> {
    pub(super) entry: Entry,
    pub(super) info: CommandInfo,
    pub(super) resource: Uuid,
    pub(super) entity: &'a dyn AnyEntity,
    /// The snapshots that must be present now, and after the restore.
    pub(super) expected: Option<Snapshot>,
    pub(super) requested: Option<Snapshot>,
    pub(super) versions: (i64, i64),
    /// The affected resources of the entry.
    pub(super) affected: Vec<AffectedResource>,
}

impl Request {
    /// Check 4: finds the entry, which must be open for this direction and belong to an undoable command.
    pub(super) async fn find(&self, tx: &mut Tx<'_>) -> Result<(Entry, CommandInfo)> {
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

    pub(super) fn expired(&self, tx: &Tx<'_>, entry: &Entry) -> bool {
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

    /// Checks 5 to 7: owner, organization, features of the original command.
    pub(super) fn check_caller(
        &self,
        context: &RequestContext,
        entry: &Entry,
        info: &CommandInfo,
        entity: &dyn AnyEntity,
    ) -> Result<()> {
        let is_own = entry.is_own(context);
        if !is_own && (info.is_personal || !context.holds(self.others)) {
            return Err(self.direction.unavailable());
        }
        if !entry.is_within(context, entity, info.features_of(is_own), self.direction)? {
            return Err(Rejection::organization_scope_violation().into());
        }
        if !is_own && !context.holds_in(self.others, entry.organization_id) {
            return Err(self.direction.unavailable());
        }
        context.require(info.features_of(is_own))
    }

    /// Returns whether a super administrator with a selected tenant undoes or redoes a change of a global row. The log of such rows belongs to the
    /// platform's tenant, which can't be selected. The endpoints that write them accept any selection too.
    pub(super) async fn is_beside_selection(&self) -> Result<bool> {
        let context = &self.unfiltered;
        if !context.rights().is_super_admin || context.scope().sees_tenant(PLATFORM_TENANT) {
            return Ok(false);
        }
        let mut connection = context.database().read(&Scope::tenant(PLATFORM_TENANT)).await?;
        let found: Option<Uuid> = logs::table
            .filter(logs::tenant_id.eq(PLATFORM_TENANT))
            .filter(logs::id.eq(self.log_id))
            .select(logs::id)
            .first(&mut *connection)
            .await
            .optional()?;
        Ok(found.is_some())
    }

    /// Returns the context in which the entry is searched: for a caller limited to organizations, only those in which the caller holds the
    /// features of the entry's command. A missing feature is reported by a later check.
    pub(super) async fn filtered(&self) -> Result<RequestContext> {
        let context = &self.unfiltered;
        if context.rights().roots().is_empty() {
            return Ok(context.clone());
        }
        let mut connection = context.read().await?;
        let command: Option<(String, String, Option<Uuid>)> = logs::table
            .filter(context.scope().owns(logs::tenant_id))
            .filter(logs::id.eq(self.log_id))
            .select((logs::command_id, logs::actor_kind, logs::actor_id))
            .first(&mut *connection)
            .await
            .optional()?;
        let Some((command, kind, actor)) = command else {
            return Ok(context.clone());
        };
        let identity = context.identity();
        let is_own = identity.kind.as_str() == kind && identity.id.is_some() && identity.id == actor;
        let info = context.platform().registry().find_command(&command);
        let features = info.map_or(&[][..], |info| info.features_of(is_own));
        Ok(context
            .for_features(features)
            .unwrap_or_else(|_missing| context.clone()))
    }

    /// Claims the entry: only one transaction gets it; others wait for it and then find it unavailable. The restore uses the entry as claimed,
    /// not as found before.
    pub(super) async fn claim<'a>(
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
        let has_token = logs::undo_secret.is_not_null();
        let statement = diesel::update(
            logs::table
                .filter(logs::tenant_id.eq(entry.tenant_id))
                .filter(logs::id.eq(entry.id))
                .filter(logs::execution_state.eq(from))
                .filter(has_token.eq(self.direction == Direction::Undo)),
        )
        .set((
            logs::execution_state.eq(to),
            logs::undo_secret.eq(None::<Vec<u8>>),
            logs::updated_at.eq(now),
        ))
        .returning(Entry::as_returning());
        let claimed: Option<Entry> = Prepared(statement).get_result(tx.conn()).await.optional()?;
        let entry = claimed.ok_or_else(|| self.direction.unavailable())?;
        let resource = entry.resource_id.as_deref().and_then(|id| id.parse().ok());
        let (Some(resource), Some(before), Some(after)) = (resource, entry.version_before, entry.version_after) else {
            return Err(self.direction.unavailable());
        };
        let affected = entry.affected()?;
        let (from, to) = entry.snapshots(self.direction);
        let (expected, requested) = (entity.logged_snapshot(from)?, entity.logged_snapshot(to)?);
        Ok(Claimed {
            entry,
            info,
            resource,
            entity,
            expected,
            requested,
            versions: (before, after),
            affected,
        })
    }
}
