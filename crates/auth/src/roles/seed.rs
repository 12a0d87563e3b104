//! Roles that exist from the start, and their default grants.

use std::collections::BTreeSet;

use backoffice_core::command::{Entity, Tx};
use backoffice_core::text::reserved_form;
use backoffice_core::{Platform, Result};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, SelectableHelper, insert_into};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use super::model::{Role, RoleAcl};
use crate::Error;
use crate::error::on_violation;
use crate::schema::{auth_default_grants as defaults, auth_role_acls as acls, auth_roles as roles};

/// The one global role whose ACL has the super-admin flag.
pub const SUPER_ADMIN_ROLE: &str = "superadmin";
/// Roles that every tenant starts with, besides those of modules. An administrator may delete them.
pub const TENANT_ROLES: [&str; 2] = ["admin", "employee"];

/// Rejects writes of the super administrators' role, by its reserved name, by any caller but the platform.
pub(crate) fn check_reserved(tx: &Tx<'_>, name: &str, deleting: bool) -> Result<()> {
    // A tenant's role from before this rule, whose name only resembles the reserved one, may be deleted.
    let form = if deleting {
        name.to_lowercase()
    } else {
        reserved_form(name)
    };
    if form == SUPER_ADMIN_ROLE && tx.context().identity().id.is_some() {
        return Err(Error::ReservedRole { deleting }.into());
    }
    Ok(())
}

/// Returns the names of the roles that the enabled modules bring, sorted.
pub(crate) fn roles_of_modules(platform: &Platform) -> BTreeSet<&'static str> {
    let modules = platform.modules().iter();
    modules
        .flat_map(|module| module.roles)
        .map(|role| role.name)
        .filter(|name| !TENANT_ROLES.contains(name))
        .collect()
}

/// Returns the default grants of this role by the enabled modules. A module may name features of modules that it does not require; they are granted
/// once these are enabled.
fn requested(platform: &Platform, role: &str) -> BTreeSet<String> {
    platform
        .modules()
        .iter()
        .flat_map(|module| module.default_grants)
        .filter(|default| default.role == role)
        .flat_map(|default| default.grants.iter().copied())
        .filter(|grant| platform.catalogue().knows(grant))
        .map(str::to_owned)
        .collect()
}

/// Creates the roles of a new tenant.
pub(crate) fn tenant<'a>(tx: &'a mut Tx<'_>, tenant: Uuid) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move {
        tx.changed(Role::KIND);
        tx.changed(RoleAcl::KIND);
        let of_modules = roles_of_modules(tx.context().platform());
        for name in TENANT_ROLES.into_iter().chain(of_modules) {
            let id = tx.new_id();
            insert(tx, tenant, id, name).await?;
        }
        Ok(())
    })
}

/// Inserts a seeded role with its default grants; returns their number.
pub(crate) async fn insert(tx: &mut Tx<'_>, tenant: Uuid, id: Uuid, name: &str) -> Result<usize> {
    let now = tx.now();
    let row = Role {
        tenant_id: tenant,
        id,
        name: name.to_owned(),
        name_norm: name.to_owned(),
        seeded_as: Some(name.to_owned()),
        created_at: now,
        updated_at: now,
    };
    insert_into(roles::table)
        .values(&row)
        .execute(tx.conn())
        .await
        .map_err(|error| on_violation("auth_roles_tenant_id_name_norm_key", Error::DuplicateRoleName)(error.into()))?;
    grant_defaults_in(tx, tenant, id, name).await
}

/// Adds the default grants that the role was never given; returns how many.
pub(crate) async fn grant_defaults(tx: &mut Tx<'_>, role: Uuid, name: &str) -> Result<usize> {
    let tenant = tx.tenant();
    grant_defaults_in(tx, tenant, role, name).await
}

async fn grant_defaults_in(tx: &mut Tx<'_>, tenant: Uuid, role: Uuid, name: &str) -> Result<usize> {
    let now = tx.now();
    let known: Vec<String> = defaults::table
        .filter(defaults::tenant_id.eq(tenant))
        .filter(defaults::role_id.eq(role))
        .select(defaults::feature)
        .load(tx.conn())
        .await?;
    let missing: Vec<String> = requested(tx.context().platform(), name)
        .into_iter()
        .filter(|grant| !known.contains(grant))
        .collect();
    let stored: Option<RoleAcl> = acls::table
        .filter(acls::tenant_id.eq(tenant))
        .filter(acls::role_id.eq(role))
        .select(RoleAcl::as_select())
        .first(tx.conn())
        .await
        .optional()?;
    if missing.is_empty() && stored.is_some() {
        return Ok(0);
    }
    let rows: Vec<_> = missing
        .iter()
        .map(|grant| {
            (
                defaults::tenant_id.eq(tenant),
                defaults::id.eq(tx.new_id()),
                defaults::role_id.eq(role),
                defaults::feature.eq(grant.clone()),
                defaults::created_at.eq(now),
                defaults::updated_at.eq(now),
            )
        })
        .collect();
    insert_into(defaults::table).values(rows).execute(tx.conn()).await?;
    let mut features: BTreeSet<String> = stored.iter().flat_map(|row| row.features.clone()).collect();
    features.extend(missing.iter().cloned());
    let row = RoleAcl {
        tenant_id: tenant,
        id: role,
        role_id: role,
        is_super_admin: stored.as_ref().is_some_and(|row| row.is_super_admin),
        features: features.into_iter().collect(),
        organizations: stored.as_ref().and_then(|row| row.organizations.clone()),
        created_at: stored.as_ref().map_or(now, |row| row.created_at),
        updated_at: now,
    };
    RoleAcl::write(tx, &[row]).await?;
    Ok(missing.len())
}
