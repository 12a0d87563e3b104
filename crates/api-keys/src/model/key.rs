//! Keys. Role links are part of a key. A deleted key remains as a tombstone that no longer authenticates,
//! until the log entries about it are dropped.

use std::collections::BTreeSet;

use backoffice_auth::{Subject, protect_holder, revoke_all};
use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::schema::{api_keys_key_roles as links, api_keys_keys as keys};
use crate::{acl, query};

const LINK_KIND: &str = "api_keys.key_role";

/// A key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable)]
#[diesel(table_name = keys, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct Key {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The name.
    pub name: String,
    /// The purpose of the key.
    pub description: Option<String>,
    /// The organization; `None` = the whole tenant.
    pub organization_id: Option<Uuid>,
    /// The part of the key that may be shown.
    pub key_prefix: String,
    /// Time of expiry.
    pub expires_at: Option<Timestamp>,
    /// Time of the last use.
    pub last_used_at: Option<Timestamp>,
    /// Kind of the creator: `user`, `api_key` or `system`.
    pub created_by_kind: String,
    /// Id of the creator.
    pub created_by_id: Option<Uuid>,
    /// The ancestors of the key: the keys that created it, the first one first.
    #[serde(default)]
    pub creator_keys: Vec<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A row of `api_keys_key_roles`: a key holds a role of its tenant or a global one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = links, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct KeyRoleRow {
    /// Tenant of the key.
    pub tenant_id: Uuid,
    /// Id of the link.
    pub id: Uuid,
    /// The key.
    pub key_id: Uuid,
    /// Tenant of the role; the nil UUID for a global one.
    pub role_tenant_id: Uuid,
    /// The role.
    pub role_id: Uuid,
    /// Time of the assignment.
    pub created_at: Timestamp,
    /// The same as `created_at`.
    pub updated_at: Timestamp,
}

impl Entity for Key {
    const KIND: &'static str = "api_keys.key";
    const VOLATILE: &'static [&'static str] = &["lastUsedAt", "updatedAt"];
    const SECRET: &'static [&'static str] = &["keyHash"];
    const NOT_FOUND: &'static str = "API key not found";
    const TOMBSTONES: Option<&'static str> = Some("api_keys_keys");
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let scope = locker.scope();
        query::keys::lock(locker.connection(), scope, ids).await
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows: Vec<Self> = keys::table
            .filter(keys::tenant_id.eq(tenant))
            .filter(keys::id.one_of(ids))
            .filter(keys::deleted_at.is_null())
            .select(Self::as_select())
            .load(tx.conn())
            .await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let held: Vec<KeyRoleRow> = links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::key_id.one_of(ids))
            .order(links::id)
            .select(KeyRoleRow::as_select())
            .load(tx.conn())
            .await?;
        let mut snapshots = Snapshots::new();
        for row in rows {
            let held: Vec<&KeyRoleRow> = held.iter().filter(|link| link.key_id == row.id).collect();
            let role_ids: BTreeSet<Uuid> = held.iter().map(|link| link.role_id).collect();
            let snapshot = Snapshot::of(&row)?
                .with_field("roleIds", json!(role_ids))
                .with_children(LINK_KIND, &held)?;
            snapshots.insert(row.id, snapshot);
        }
        Ok(snapshots)
    }

    /// No command on keys can be undone, so no snapshot of a key is ever restored.
    async fn store(_tx: &mut Tx<'_>, _snapshots: &[Snapshot]) -> Result<Vec<String>> {
        Err(Error::internal("API keys cannot be restored"))
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        diesel::delete(
            links::table
                .filter(links::tenant_id.eq(tenant))
                .filter(links::key_id.one_of(ids)),
        )
        .execute(tx.conn())
        .await?;
        diesel::update(
            keys::table
                .filter(keys::tenant_id.eq(tenant))
                .filter(keys::id.one_of(ids)),
        )
        .set((keys::deleted_at.eq(now), keys::updated_at.eq(now)))
        .prepared()
        .execute(tx.conn())
        .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let (Some(from), None) = (step.from, step.to) else {
            return Ok(());
        };
        let held: Vec<KeyRoleRow> = from.children(LINK_KIND)?.unwrap_or_default();
        let roles: Vec<Uuid> = held.iter().map(|link| link.role_id).collect();
        let row: Self = from.row()?;
        protect_holder(tx, &roles, row.organization_id).await
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        if step.from.is_none() {
            return Ok(());
        }
        // Keys that this key created are revoked with it.
        let tenant = tx.tenant();
        let mut revoked = query::keys::created_with(tx.conn(), tenant, step.id).await?;
        revoked.push(step.id);
        revoke_all(tx, revoked.into_iter().map(Subject::Key).collect()).await
    }
}
