//! Links to files for people without an account.

use std::collections::HashMap;

use backoffice_core::command::{Depth, Entity, EntityRef, LockedRow, Locker, Snapshot, Snapshots, Tx};
use backoffice_core::db::KeyColumn;
use backoffice_core::identity::ActorKind;
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::ATTACHMENT;
use crate::schema::{attachments_attachments as attachments, attachments_links as links};
use crate::{acl, query};

/// Kind of the entity.
pub const LINK: &str = "attachments.link";

/// A link, the entity `attachments.link`, without the hash of its token.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Serialize, Deserialize)]
#[diesel(table_name = links, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The file.
    pub attachment_id: Uuid,
    /// Time after which the link no longer works.
    pub expires_at: Timestamp,
    /// Number of downloads after which the link no longer works; `None` without a bound.
    pub max_downloads: Option<i32>,
    /// The downloads so far.
    pub downloads: i32,
    /// Time of the last download.
    pub last_used_at: Option<Timestamp>,
    /// Time of the revocation.
    pub revoked_at: Option<Timestamp>,
    /// Kind of the creator: `user`, `api_key` or `system`.
    pub creator_kind: String,
    /// Tenant of the creator.
    pub creator_tenant_id: Uuid,
    /// Id of the creator.
    pub created_by: Option<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Link {
    /// Returns whether the link works, apart from the rights of its creator.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        let is_used_up = self.max_downloads.is_some_and(|most| self.downloads >= most);
        self.revoked_at.is_none() && self.expires_at > now && !is_used_up
    }

    /// Returns the kind of the creator.
    #[must_use]
    pub fn creator_kind(&self) -> Option<ActorKind> {
        ActorKind::parse(&self.creator_kind)
    }

    /// Returns the links with these ids in the transaction's tenant.
    pub(crate) async fn read(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<Self>> {
        let rows = links::table.filter(links::tenant_id.eq(tx.tenant()));
        let rows = rows.filter(links::id.one_of(ids)).order(links::id);
        Ok(rows.select(Self::as_select()).load(tx.conn()).await?)
    }
}

impl Entity for Link {
    const KIND: &'static str = LINK;
    const VOLATILE: &'static [&'static str] = &["downloads", "lastUsedAt", "updatedAt"];
    const SECRET: &'static [&'static str] = &["tokenHash"];
    const NOT_FOUND: &'static str = "Link not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let files = query::attachments::in_scope(locker.scope()).select(attachments::id);
        let rows = links::table
            .filter(locker.scope().owns(links::tenant_id))
            .filter(links::id.one_of(ids))
            .filter(links::attachment_id.eq_any(files));
        let locked = rows.order(links::id).select((links::id, links::tenant_id)).for_update();
        Ok(locked.load(&mut locker.connection()).await?)
    }

    /// A snapshot has the organization of the file too.
    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = Self::read(tx, ids).await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let files: Vec<Uuid> = rows.iter().map(|row| row.attachment_id).collect();
        let organizations = attachments::table
            .filter(attachments::tenant_id.eq(tx.tenant()))
            .filter(attachments::id.one_of(files))
            .select((attachments::id, attachments::organization_id));
        let organizations: Vec<(Uuid, Uuid)> = organizations.load(tx.conn()).await?;
        let organizations: HashMap<Uuid, Uuid> = organizations.into_iter().collect();
        let snapshot = |row: &Self| {
            let organization = organizations.get(&row.attachment_id).copied();
            Ok((row.id, Snapshot::of(row)?.with_organization(organization)))
        };
        rows.iter().map(snapshot).collect()
    }

    /// No command on links can be undone, so no snapshot of a link is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("links cannot be restored"))
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = links::table.filter(links::tenant_id.eq(tx.tenant()));
        delete(rows.filter(links::id.one_of(ids))).execute(tx.conn()).await?;
        Ok(())
    }

    fn parent(snapshot: &Snapshot) -> Option<EntityRef> {
        let id = snapshot.get("attachmentId").and_then(Value::as_str)?.parse().ok()?;
        Some(EntityRef { kind: ATTACHMENT, id })
    }
}
