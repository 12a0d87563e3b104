//! Whether an entry is the latest of its resource, and the top of its owner's redo stack.

use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, SelectableHelper, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::entry::{Claimed, Entry};
use super::{Direction, Request};
use crate::command::execute::entity;
use crate::command::snapshot::Snapshot;
use crate::command::touched::{self, Way};
use crate::command::{changes, moved_forward};
use crate::db::{Tx, audit_action_logs as logs};
use crate::error::Result;

impl Request {
    /// Checks 8 and 9: the entry is the latest of its resource, and the resource is as the entry left it.
    pub(super) async fn present(&self, tx: &mut Tx<'_>, claimed: &Claimed<'_>) -> Result<Option<Snapshot>> {
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
            return Err(self.direction.changed(fields));
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
        let same = expected.is_some() == present.is_some()
            && changes::differing(entity.fields(), expected.as_ref(), present.as_ref()).is_empty();
        Ok(same && touched::check(tx, &entry.touched()?, Way::Again).await?.is_ok())
    }
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = BigInt)]
    version: i64,
}

/// The version of a resource, its row locked; 0 when there is none.
pub(in crate::command) async fn lock_version(tx: &mut Tx<'_>, kind: &str, resource: Uuid) -> Result<i64> {
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
