//! Partitions: who may read their files, and where the files are stored.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud;
use backoffice_core::db::KeyColumn;
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Feature, Rejection, RequestContext, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, delete};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::error::Error;
use crate::schema::attachments_partitions as partitions;
use crate::{acl, hosts, known, query};

/// Kind of the entity.
pub const PARTITION: &str = "attachments.partition";

/// Code of the default partition for files that everybody may read.
pub const DEFAULT_PUBLIC: &str = "productsMedia";
/// Code of the default partition for all other files.
pub const DEFAULT_PRIVATE: &str = "privateAttachments";

/// A partition, the entity `attachments.partition`.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize)]
#[diesel(table_name = partitions, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
pub struct Partition {
    /// The tenant; the nil UUID for the partitions that all tenants have.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// 2 to 60 of `A-Z a-z 0-9 _ -`, unique in the tenant regardless of case.
    pub code: String,
    /// 1 to 120 characters.
    pub title: String,
    /// At most 500 characters.
    pub description: Option<String>,
    /// Whether everybody may read the files.
    pub is_public: bool,
    /// Whether texts of images are to be recognized.
    pub requires_ocr: bool,
    /// The model that recognizes them, at most 50 characters.
    pub ocr_model: Option<String>,
    /// `local` or `s3`.
    pub storage_driver: String,
    /// Settings of the driver, with `[redacted]` in place of credentials.
    #[serde(rename = "configJson")]
    pub config: Option<Value>,
    /// The store of new files.
    pub store_id: Uuid,
    /// How often the credentials of a store changed.
    #[serde(default)]
    pub credentials_version: i32,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Partition {
    /// Whether every tenant has this partition.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.tenant_id == PLATFORM_TENANT
    }

    /// Checks that the caller may write partitions.
    ///
    /// # Errors
    /// 403 `demo_locked` in a demonstration (`app.demo`); 403 for a caller whose rights are limited to organizations.
    pub(crate) fn check_writable(ctx: &RequestContext) -> Result<()> {
        if ctx.platform().app().demo {
            return Err(Error::DemoLocked.into());
        }
        hosts::require_whole_tenant(ctx.scope())
    }
}

impl Entity for Partition {
    const KIND: &'static str = PARTITION;
    /// The organization is always null, and absent from the snapshots of earlier releases.
    const VOLATILE: &'static [&'static str] = &["organizationId", "updatedAt"];
    /// The settings. A migration renames them in the log; processes of the earlier release that run after it write the former name.
    const FORMER_NAMES: &'static [(&'static str, &'static str)] = &[("config", "configJson")];
    const NOT_FOUND: &'static str = "Partition not found";
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::partitions::in_scope(locker.scope()).filter(partitions::id.one_of(ids));
        let locked = visible.order(partitions::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let rows = crud::read::<Self>(tx, ids).await?;
        // A partition belongs to the whole tenant.
        let snapshot = |row: &Self| Ok((row.id, Snapshot::of(row)?.with_organization(None)));
        rows.iter().map(snapshot).collect()
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        crud::store::<Self>(tx, snapshots).await
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let rows = partitions::table.filter(partitions::tenant_id.eq(tx.tenant()));
        delete(rows.filter(partitions::id.one_of(ids)))
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    /// Keeps the partitions that all tenants have. Foreign keys keep those with files. A change of credentials is not undone, because the old ones are
    /// nowhere any more; its entry has an undo token only if an earlier release has written it. Undo and redo do not make a partition with files public,
    /// because their callers confirm nothing; uploads into the partition wait for its row, which is locked.
    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        Self::check_writable(tx.context())?;
        let Some(from) = step.from.map(Snapshot::row::<Self>).transpose()? else {
            return Ok(());
        };
        let Some(to) = step.to.map(Snapshot::row::<Self>).transpose()? else {
            return match from.is_default() {
                true => Err(Rejection::bad_request("Default partitions cannot be deleted").into()),
                false => Ok(()),
            };
        };
        if step.restoring && to.credentials_version != from.credentials_version {
            let text = "The credentials of a store can't be restored; set them again";
            return Err(Rejection::conflict(text).code("credentials_not_kept").into());
        }
        let becomes_public = to.is_public && !from.is_public;
        if step.restoring && becomes_public && query::partitions::has_files(tx, to.id).await? {
            return Err(Rejection::undo_conflict(&["isPublic"]).into());
        }
        Ok(())
    }

    async fn after_transition(tx: &mut Tx<'_>, _step: &Transition<'_>) -> Result<()> {
        known::forget(tx)
    }
}
