//! Resources: workers, equipment and vehicles. A deleted one remains as a tombstone, to which past assignments refer.

use backoffice_auth::find_tenant_users;
use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::{Feature, Result, Timestamp};
use diesel::pg::Pg;
use diesel::{ExpressionMethods, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper, update};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{LiveUse, RESOURCE, keep_from_losing_assignments};
use crate::documented::ResourceTypeName;
use crate::notify::remind_other_user;
use crate::schema::dispatch_resources as resources;
use crate::{acl, after_change, query};

/// What can be assigned to job sites.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable, Insertable, Serialize, Deserialize, ToSchema)]
#[diesel(table_name = resources, treat_none_as_default_value = false, check_for_backend(Pg))]
#[serde(rename_all = "camelCase")]
#[schema(as = DispatchResource)]
pub struct Resource {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Uuid,
    /// `worker`, `equipment` or `vehicle`.
    #[serde(rename = "type")]
    #[schema(value_type = ResourceTypeName)]
    pub type_: String,
    /// 1 to 200 characters.
    pub name: String,
    /// At most 40 characters, unique among the resources of the type in the organization regardless of case.
    #[schema(required = true)]
    pub code: Option<String>,
    /// The user who is this worker.
    #[schema(required = true)]
    pub user_id: Option<Uuid>,
    /// Whether it can be assigned.
    pub is_active: bool,
    /// At most 2000 characters.
    #[schema(required = true)]
    pub notes: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Entity for Resource {
    const KIND: &'static str = RESOURCE;
    const NOT_FOUND: &'static str = "Resource not found";
    const TOMBSTONES: Option<&'static str> = Some("dispatch_resources");
    const VIEW: Option<Feature> = Some(acl::VIEW);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let visible = query::resources::in_scope(locker.scope()).filter(resources::id.one_of(ids));
        let locked = visible.order(resources::id).select(Self::as_select()).for_update();
        Ok(crud::locked(locked.load(&mut locker.connection()).await?))
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], _depth: Depth) -> Result<Snapshots> {
        crud::load::<Self>(tx, ids).await
    }

    /// Leaves out users who have been deleted.
    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let mut rows = snapshots.iter().map(Snapshot::row).collect::<Result<Vec<Self>>>()?;
        let users: Vec<Uuid> = rows.iter().filter_map(|row| row.user_id).collect();
        let mut dropped = Vec::new();
        if !users.is_empty() {
            let live = find_tenant_users(tx, &users).await?;
            for row in &mut rows {
                let is_live = |user: Uuid| live.iter().any(|one| one.id == user);
                if row.user_id.is_some_and(|user| !is_live(user)) {
                    row.user_id = None;
                    dropped.push("userId".to_owned());
                }
            }
        }
        for row in &mut rows {
            row.updated_at = tx.now();
        }
        Self::write(tx, &rows).await?;
        Ok(dropped)
    }

    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let now = tx.now();
        let own = resources::table.filter(resources::tenant_id.eq(tx.tenant()));
        update(own.filter(resources::id.one_of(ids)))
            .set((resources::deleted_at.eq(now), resources::updated_at.eq(now)))
            .prepared()
            .execute(tx.conn())
            .await?;
        Ok(())
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        match step.to {
            None => keep_from_losing_assignments(tx, step, LiveUse::OfResource).await,
            Some(_) => Ok(()),
        }
    }

    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let from = step.from.map(Snapshot::row::<Self>).transpose()?;
        let to = step.to.map(Snapshot::row::<Self>).transpose()?;
        if from.is_some() || step.restoring {
            after_change::resource(tx, from.as_ref(), to.as_ref());
        }
        if let (Some(from), Some(to)) = (from, to)
            && to.user_id.is_some()
            && from.user_id != to.user_id
        {
            remind_other_user(tx, to.id).await?;
        }
        Ok(())
    }

    /// Leaves out the type, which never changes.
    fn fields_of_constraint(constraint: &str) -> &'static [&'static str] {
        match constraint {
            "dispatch_resources_tenant_id_organization_id_type_code_idx" => &["code", "organizationId"],
            _ => &[],
        }
    }
}
