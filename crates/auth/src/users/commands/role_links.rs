//! The roles of a user.

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::{KeyColumn, Recurring};
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, JoinOnDsl, QueryDsl, insert_into};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::Error;
use crate::error::on_violation;
use crate::roles::holders::RoleToHold;
use crate::roles::{self, grants, rights};
use crate::schema::{auth_role_acls as acls, auth_roles, auth_user_roles as links};
use crate::users::model::UserRole;

/// Roles of a user that are added so often together that the statement is kept.
const FEW: usize = 4;

/// The difference between the roles that a user holds and the requested ones. Links to roles in both keep their row.
pub(in crate::users) struct RoleLinks<'a> {
    user: Uuid,
    named: &'a [String],
    removed: Vec<Uuid>,
    added: Vec<(Uuid, Uuid)>,
}

impl<'a> RoleLinks<'a> {
    /// Finds the requested roles, which replace those that the user holds. The user keeps the roles that the caller does not see.
    pub(super) async fn find(tx: &mut Tx<'_>, user: Uuid, named: &'a [String]) -> Result<Self> {
        let (context, tenant) = (tx.context(), tx.tenant());
        let requested = match roles::query::resolve(tx.conn(), context, tenant, named).await? {
            Ok(requested) => requested,
            Err(missing) => return Err(Error::RolesNotFound(missing).into()),
        };
        let is_super_admin = exists(
            acls::table
                .filter(acls::tenant_id.eq(links::role_tenant_id))
                .filter(acls::role_id.eq(links::role_id))
                .filter(acls::is_super_admin),
        );
        let held: Vec<(Uuid, Uuid, Uuid, bool)> = links::table
            .filter(links::tenant_id.eq(tenant))
            .filter(links::user_id.eq(user))
            .select((links::id, links::role_tenant_id, links::role_id, is_super_admin))
            .load(tx.conn())
            .await?;
        let is_held = |role: &(Uuid, Uuid)| held.iter().any(|(_, owner, id, _)| (*owner, *id) == *role);
        let sees_all = context.rights().is_super_admin;
        Ok(Self {
            user,
            named,
            removed: held
                .iter()
                .filter(|(.., is_super_admin)| sees_all || !is_super_admin)
                .filter(|(_, owner, role, _)| !requested.contains(&(*owner, *role)))
                .map(|(id, ..)| *id)
                .collect(),
            added: requested.into_iter().filter(|role| !is_held(role)).collect(),
        })
    }

    /// Prepares to take the roles with these names, in lower case, and to assign `role`; `named` names it in errors.
    pub(in crate::users) async fn exchange(
        tx: &mut Tx<'_>,
        user: Uuid,
        names: &[&str],
        role: &RoleToHold,
        named: &'a [String],
    ) -> Result<Self> {
        let tenant = tx.tenant();
        let held: Vec<(Uuid, Uuid, Uuid, String)> = links::table
            .inner_join(
                auth_roles::table.on(auth_roles::tenant_id
                    .eq(links::role_tenant_id)
                    .and(auth_roles::id.eq(links::role_id))),
            )
            .filter(links::tenant_id.eq(tenant))
            .filter(links::user_id.eq(user))
            .select((links::id, links::role_tenant_id, links::role_id, auth_roles::name_norm))
            .load(tx.conn())
            .await?;
        let requested = (role.tenant_id, role.id);
        let is_requested = |owner: &Uuid, id: &Uuid| (*owner, *id) == requested;
        let is_held = held.iter().any(|(_, owner, id, _)| is_requested(owner, id));
        Ok(Self {
            user,
            named,
            removed: held
                .iter()
                .filter(|(_, owner, id, name)| !is_requested(owner, id) && names.contains(&name.as_str()))
                .map(|(link, ..)| *link)
                .collect(),
            added: if is_held { Vec::new() } else { vec![requested] },
        })
    }

    /// Rejects roles whose rights the caller does not hold.
    pub(in crate::users) async fn check(&self, tx: &mut Tx<'_>) -> Result<()> {
        let added: Vec<Uuid> = self.added.iter().map(|(_, id)| *id).collect();
        if added.is_empty() {
            return Ok(());
        }
        for acl in rights::acls_of(tx, &added).await? {
            grants::check_assignment(tx, &acl)?;
        }
        Ok(())
    }

    /// Deletes and inserts links.
    pub(in crate::users) async fn store(self, tx: &mut Tx<'_>) -> Result<()> {
        let (tenant, now) = (tx.tenant(), tx.now());
        if !self.removed.is_empty() {
            diesel::delete(
                links::table
                    .filter(links::tenant_id.eq(tenant))
                    .filter(links::id.one_of(&self.removed)),
            )
            .execute(tx.conn())
            .await?;
        }
        let rows: Vec<UserRole> = self
            .added
            .iter()
            .map(|(role_tenant_id, role_id)| UserRole {
                tenant_id: tenant,
                id: tx.new_id(),
                user_id: self.user,
                role_tenant_id: *role_tenant_id,
                role_id: *role_id,
                created_at: now,
                updated_at: now,
            })
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        let inserted = insert_into(links::table)
            .values(&rows)
            .prepared_if(rows.len() <= FEW)
            .execute(tx.conn())
            .await;
        inserted.map(drop).map_err(|error| {
            // A role can be deleted while it is assigned to a user.
            let missing = Error::RolesNotFound(self.named.to_vec());
            on_violation("auth_user_roles_role_tenant_id_role_id_fkey", missing)(error.into())
        })
    }
}
