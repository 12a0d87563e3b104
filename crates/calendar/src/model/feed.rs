//! Feeds: addresses at which calendar programs read windows and assignments.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::identity::{ActorKind, Principal};
use backoffice_core::{Error, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::FEED;
use crate::documented::CalendarFeedContent;
use crate::query;
use crate::schema::calendar_feeds as feeds;
use crate::subject::ResourceType;

/// The name of windows in a filter.
pub(crate) const WINDOWS: &str = "windows";
/// The kinds of events that a feed may contain.
pub(crate) const FEED_CONTENTS: [&str; 2] = [WINDOWS, "assignments"];

/// The events that a feed contains.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = CalendarFeedFilter)]
pub struct FeedFilter {
    /// `windows`, `assignments` or both.
    #[schema(value_type = Vec<CalendarFeedContent>)]
    pub include: Vec<String>,
    /// Only those of resources of this type; null for all.
    pub resource_type: Option<ResourceType>,
    /// Only those of these resources; null for all.
    pub resource_ids: Option<Vec<Uuid>>,
    /// Only assignments to these job sites; null for all. Windows have no job site.
    pub job_site_ids: Option<Vec<Uuid>>,
}

/// A feed of a user, the entity `calendar.feed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Queryable, Selectable, Insertable, ToSchema)]
#[diesel(table_name = feeds, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = CalendarFeed)]
pub struct Feed {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization in which it was created.
    pub organization_id: Uuid,
    /// The tenant of the user, if it is another one: that of a super administrator who had selected this tenant.
    pub user_tenant_id: Option<Uuid>,
    /// The user who created it, and with whose present rights it is read.
    pub user_id: Uuid,
    /// 1 to 80 characters.
    pub name: String,
    /// What it contains.
    #[schema(value_type = FeedFilter)]
    pub filter: Value,
    /// Time of the last use, to the hour; null before the first one.
    pub last_used_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Feed {
    /// Returns its user.
    pub(crate) fn user(&self) -> Principal {
        Principal {
            kind: ActorKind::User,
            tenant: self.user_tenant_id.unwrap_or(self.tenant_id),
            id: self.user_id,
        }
    }

    /// Returns what it contains.
    pub(crate) fn contents(&self) -> Result<FeedFilter> {
        Ok(serde_json::from_value(self.filter.clone())?)
    }
}

impl Entity for Feed {
    const KIND: &'static str = FEED;
    const VOLATILE: &'static [&'static str] = &["lastUsedAt", "updatedAt"];
    const SECRET: &'static [&'static str] = &["tokenHash"];
    const NOT_FOUND: &'static str = "Feed not found";

    /// Locks feeds of the caller.
    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let own = query::feeds::own(locker.scope(), locker.context().user_id()?).filter(feeds::id.one_of(ids));
        let rows = own.order(feeds::id).select((feeds::id, feeds::tenant_id)).for_update();
        Ok(rows.load(&mut locker.connection()).await?)
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = feeds::table.filter(feeds::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(feeds::id.one_of(ids)).select(Self::as_select());
        let rows: Vec<Self> = rows.load(tx.conn()).await?;
        rows.iter().map(|row| Ok((row.id, Snapshot::of(row)?))).collect()
    }

    /// No command on feeds can be undone, so no snapshot of a feed is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("feeds cannot be restored"))
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = feeds::table.filter(feeds::tenant_id.eq(tx.tenant()));
        delete(rows.filter(feeds::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    fn audience(snapshot: &Snapshot) -> Option<Uuid> {
        snapshot.get("userId")?.as_str()?.parse().ok()
    }
}
