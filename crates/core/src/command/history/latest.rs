//! Checks that an entry is the latest of its resources, and that they are as it left them.

use super::entry::Claimed;
use super::{Direction, Request};
use crate::command::affected::{self, Obstacle, SnapshotsByKey};
use crate::command::snapshot::Snapshot;
use crate::command::{Tx, changes, moved_forward, versions};
use crate::error::{Error, Result};

impl Request {
    /// Checks 8 and 9: the entry is the latest of its resource and of each affected one, and all are as the entry left them. Returns the
    /// present snapshots. The number of statements depends only on the number of kinds.
    pub(super) async fn present(
        &self,
        tx: &mut Tx<'_>,
        claimed: &Claimed<'_>,
    ) -> Result<(Option<Snapshot>, SnapshotsByKey)> {
        let own = (claimed.info.kind, claimed.resource);
        let affected = affected::keys(tx, &claimed.affected)?;
        let mut keys = affected.clone();
        keys.push(own);
        let context = tx.context();
        let visible = affected::lock_visible(tx, context, &keys).await?;
        let versions = versions::lock(tx, &keys).await?;
        let expected_version = match self.direction {
            Direction::Undo => claimed.versions.1,
            Direction::Redo => claimed.versions.0,
        };
        if versions.of(&own) != expected_version
            || !affected::are_latest(&claimed.affected, &affected, &versions, self.direction)
        {
            return Err(self.direction.unavailable());
        }
        let mut snapshots = claimed
            .entity
            .snapshots(tx, &[claimed.resource], claimed.info.depth())
            .await?;
        tx.set_now(moved_forward(tx.now(), &snapshots));
        let present = snapshots.remove(&claimed.resource);
        let others = affected::snapshots(tx, affected.iter().copied()).await?;
        let is_hidden = present.is_some() && !visible.contains(&own);
        // Deleted since, together with a record that it belongs to: that deletion has no version of this resource.
        let is_deleted = present.is_none() && claimed.expected.is_some();
        if is_hidden || is_deleted {
            return Err(self.direction.unavailable());
        }
        let fields = changes::differing(claimed.entity.tracking(), claimed.expected.as_ref(), present.as_ref());
        if !fields.is_empty() || claimed.expected.is_some() != present.is_some() {
            return Err(self.direction.changed(fields));
        }
        if let Some(obstacle) = affected::compare(tx, &claimed.affected, &affected, &others, &visible, self.direction)?
        {
            return Err(self.stopped_by(obstacle));
        }
        if self.direction == Direction::Redo {
            self.check_top(tx, claimed).await?;
        }
        Ok((present, others))
    }

    fn stopped_by(&self, obstacle: Obstacle) -> Error {
        match obstacle {
            Obstacle::Unavailable => self.direction.unavailable(),
            Obstacle::Differs(fields) => self.direction.changed(fields),
        }
    }
}
