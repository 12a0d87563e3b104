//! Roles. The ACL of a role and its sidebar settings are deleted and restored with it.

use backoffice_core::command::{Depth, Entity, LockedRow, Locker, Snapshot, Snapshots, Transition, Tx};
use backoffice_core::crud::{self, Record};
use backoffice_core::db::{KeyColumn, Recurring};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Error, Feature, Result, Timestamp};
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel::{ExpressionMethods, Identifiable, Insertable, QueryDsl, Queryable, Selectable, SelectableHelper};
use diesel_async::RunQueryDsl;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::RoleAcl;
use crate::acl;
use crate::roles::{grants, query, seed};
use crate::schema::{
    auth_default_grants as defaults, auth_role_acls as acls, auth_roles as roles, auth_user_roles as links,
};
use crate::sessions::revocation::{self, Subject};
use crate::sidebar::model::RoleSidebar;

/// A role: a row of `auth_roles`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable, Identifiable)]
#[diesel(table_name = roles, treat_none_as_default_value = false, primary_key(tenant_id, id), check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
pub struct Role {
    /// The tenant; the nil UUID for a global role.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The name, unique in the tenant without regard to case.
    pub name: String,
    #[serde(skip)]
    pub(crate) name_norm: String,
    /// The original name of a role that was seeded with its tenant, even if the role was renamed.
    pub seeded_as: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A row of `auth_default_grants`: a default grant that was once added to the role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Queryable, Selectable, Insertable)]
#[diesel(table_name = defaults, treat_none_as_default_value = false, check_for_backend(diesel::pg::Pg))]
#[serde(rename_all = "camelCase")]
struct DefaultGrantRow {
    tenant_id: Uuid,
    id: Uuid,
    role_id: Uuid,
    feature: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

const DEFAULT_GRANT_KIND: &str = "auth.default_grant";

impl Entity for Role {
    const KIND: &'static str = "auth.role";
    const VOLATILE: &'static [&'static str] = &["seededAs", "updatedAt"];
    const NOT_FOUND: &'static str = "Role not found";
    const VIEW: Option<Feature> = Some(acl::ROLES_LIST);

    async fn lock(locker: Locker<'_>, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
        let context = locker.context();
        query::lock(locker.connection(), context, ids).await
    }

    async fn load(tx: &mut Tx<'_>, ids: &[Uuid], depth: Depth) -> Result<Snapshots> {
        let tenant = tx.tenant();
        let rows = crud::read::<Self>(tx, ids).await?;
        if rows.is_empty() {
            return Ok(Snapshots::new());
        }
        let children: Vec<RoleAcl> = match depth {
            Depth::Own => Vec::new(),
            Depth::Tree => {
                acls::table
                    .filter(acls::tenant_id.eq(tenant))
                    .filter(acls::role_id.one_of(ids))
                    .select(RoleAcl::as_select())
                    .order(acls::id)
                    .load(tx.conn())
                    .await?
            }
        };
        let granted: Vec<DefaultGrantRow> = match depth {
            Depth::Own => Vec::new(),
            Depth::Tree => {
                defaults::table
                    .filter(defaults::tenant_id.eq(tenant))
                    .filter(defaults::role_id.one_of(ids))
                    .select(DefaultGrantRow::as_select())
                    .order(defaults::id)
                    .load(tx.conn())
                    .await?
            }
        };
        let sidebar = match depth {
            Depth::Own => RoleSidebar::default(),
            Depth::Tree => RoleSidebar::load(tx, ids).await?,
        };
        let mut snapshots = Snapshots::new();
        for row in rows {
            let mut snapshot = Snapshot::of(&row)?.with_organization(None);
            if depth == Depth::Tree {
                let own: Vec<&RoleAcl> = children.iter().filter(|acl| acl.role_id == row.id).collect();
                let granted: Vec<&DefaultGrantRow> = granted.iter().filter(|one| one.role_id == row.id).collect();
                snapshot = snapshot
                    .with_children(RoleAcl::KIND, &own)?
                    .with_children(DEFAULT_GRANT_KIND, &granted)?;
                snapshot = sidebar.with(snapshot, row.id)?;
            }
            snapshots.insert(row.id, snapshot);
        }
        Ok(snapshots)
    }

    async fn store(tx: &mut Tx<'_>, snapshots: &[Snapshot]) -> Result<Vec<String>> {
        let now = tx.now();
        let mut rows = Vec::with_capacity(snapshots.len());
        let (mut children, mut granted, mut sidebar) = (Vec::new(), Vec::new(), RoleSidebar::default());
        for snapshot in snapshots {
            let row: Self = snapshot.row()?;
            rows.push(Self {
                name_norm: row.name.to_lowercase(),
                updated_at: now,
                ..row
            });
            for acl in snapshot.children::<RoleAcl>(RoleAcl::KIND)?.unwrap_or_default() {
                children.push(RoleAcl { updated_at: now, ..acl });
            }
            sidebar.collect(snapshot, now)?;
            granted.extend(
                snapshot
                    .children::<DefaultGrantRow>(DEFAULT_GRANT_KIND)?
                    .unwrap_or_default(),
            );
        }
        Self::write(tx, &rows).await?;
        RoleAcl::write(tx, &children).await?;
        if !granted.is_empty() {
            diesel::insert_into(defaults::table)
                .values(&granted)
                .on_conflict_do_nothing()
                .prepared_if(granted.len() == 1)
                .execute(tx.conn())
                .await?;
        }
        sidebar.store(tx).await?;
        Ok(Vec::new())
    }

    /// Users of deleted tenants count as missing, so they keep no global role from being deleted. No undo restores their links.
    async fn remove(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<()> {
        let tenant = tx.tenant();
        if tenant == PLATFORM_TENANT {
            let in_deleted_tenant = sql::<Bool>(
                "exists (select from directory_tenants t where t.tenant_id = auth_user_roles.tenant_id and t.deleted_at is not null)",
            );
            diesel::delete(
                links::table
                    .filter(links::role_tenant_id.eq(tenant))
                    .filter(links::role_id.one_of(ids))
                    .filter(in_deleted_tenant),
            )
            .execute(tx.conn())
            .await?;
        }
        diesel::delete(
            roles::table
                .filter(roles::tenant_id.eq(tenant))
                .filter(roles::id.one_of(ids)),
        )
        .execute(tx.conn())
        .await?;
        Ok(())
    }

    /// Two roles that were seeded for the same purpose mostly have the same name too.
    fn fields_of_constraint(constraint: &str) -> &'static [&'static str] {
        match constraint {
            "auth_roles_tenant_id_seeded_as_key" => &["name"],
            _ => &[],
        }
    }

    async fn guard(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        grants::may_write_role(tx)?;
        for snapshot in [step.from, step.to].into_iter().flatten() {
            if let Some(name) = snapshot.get("name").and_then(|name| name.as_str()) {
                seed::check_reserved(tx, name, step.to.is_none())?;
            }
        }
        let acl = |snapshot: Option<&Snapshot>| -> Result<Option<grants::Acl>, Error> {
            let rows = snapshot
                .map(|snapshot| snapshot.children::<RoleAcl>(RoleAcl::KIND))
                .transpose()?
                .flatten();
            Ok(rows.iter().flatten().next().map(grants::Acl::from))
        };
        if step.restoring || step.to.is_none() {
            grants::check_role_acl(tx, acl(step.from)?.as_ref(), acl(step.to)?.as_ref())?;
        }
        if step.restoring && step.from.is_some() {
            // The snapshots of an edit do not contain the ACL. The commands check it before they write.
            grants::may_change_role(tx, step.id).await?;
        }
        Ok(())
    }

    /// A cached identity contains the names of its roles, so a rename revokes those of all holders, as a deletion does.
    async fn after_transition(tx: &mut Tx<'_>, step: &Transition<'_>) -> Result<()> {
        let Some(from) = step.from else { return Ok(()) };
        if step.to.is_none_or(|to| to.get("name") != from.get("name")) {
            revocation::revoke(tx, Subject::Role(step.id)).await?;
        }
        Ok(())
    }
}
