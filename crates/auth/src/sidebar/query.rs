//! Reads of sidebar settings.

use backoffice_core::command::Entity;
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::{Rejection, RequestContext, Result, Scope};
use diesel::dsl::exists;
use diesel::{BoolExpressionMethods, ExpressionMethods, OptionalExtension, QueryDsl, Queryable, SelectableHelper};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::model::{RoleSidebarPreference, SidebarPreference, SidebarVariant};
use crate::roles::query::visible;
use crate::schema::{
    auth_role_sidebar_preferences as role_preferences, auth_roles as roles, auth_sidebar_preferences as preferences,
    auth_sidebar_variants as variants, auth_users as users,
};
use crate::users::model::User;

/// Most rows of a list; more than any user has.
const LONGEST: i64 = 1000;

/// A role whose settings can be set.
#[derive(Debug, Clone, Queryable)]
pub struct SidebarRole {
    /// The tenant; the nil UUID for a global role.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The name.
    pub name: String,
    /// Whether the tenant has settings for the role in the locale.
    pub has_preference: bool,
}

/// Returns the caller's own settings in a locale.
///
/// # Errors
/// If the database can't be reached.
pub async fn own(
    connection: &AsyncPgConnection,
    scope: &Scope,
    user: Uuid,
    locale: &str,
) -> Result<Option<SidebarPreference>> {
    let statement = preferences::table
        .filter(scope.owns(preferences::tenant_id))
        .filter(preferences::user_id.eq(user))
        .filter(preferences::locale.eq(locale))
        .select(SidebarPreference::as_select());
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns the settings that a tenant has for these roles in a locale, at most one each.
///
/// # Errors
/// If the database can't be reached.
pub async fn of_roles(
    connection: &AsyncPgConnection,
    scope: &Scope,
    tenant: Uuid,
    requested: &[Uuid],
    locale: &str,
) -> Result<Vec<RoleSidebarPreference>> {
    let statement = role_preferences::table
        .filter(scope.owns(role_preferences::tenant_id))
        .filter(role_preferences::tenant_id.eq(tenant))
        .filter(role_preferences::role_id.one_of(requested))
        .filter(role_preferences::locale.eq(locale))
        .select(RoleSidebarPreference::as_select());
    Ok(Prepared(statement).load(&mut &*connection).await?)
}

/// Returns the roles of a tenant that the caller sees, and global ones, by name; only those with `ids`, if given.
///
/// # Errors
/// If the database can't be reached.
pub async fn roles(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    tenant: Uuid,
    locale: &str,
    ids: Option<&[Uuid]>,
) -> Result<Vec<SidebarRole>> {
    let has_preference = exists(
        role_preferences::table
            .filter(role_preferences::tenant_id.eq(tenant))
            .filter(role_preferences::role_tenant_id.eq(roles::tenant_id))
            .filter(role_preferences::role_id.eq(roles::id))
            .filter(role_preferences::locale.eq(locale.to_owned())),
    );
    let mut statement = visible(context)
        .filter(roles::tenant_id.one_of(vec![tenant, PLATFORM_TENANT]))
        .order((roles::name_norm.asc(), roles::id.asc()))
        .limit(LONGEST)
        .select((roles::tenant_id, roles::id, roles::name, has_preference));
    if let Some(ids) = ids {
        statement = statement.filter(roles::id.one_of(ids.to_vec()));
    }
    Ok(statement.load(&mut &*connection).await?)
}

/// Returns the caller's variants in a locale, the oldest first.
///
/// # Errors
/// If the database can't be reached.
pub async fn variants(
    connection: &AsyncPgConnection,
    scope: &Scope,
    user: Uuid,
    locale: &str,
) -> Result<Vec<SidebarVariant>> {
    let statement = variants::table
        .filter(scope.owns(variants::tenant_id))
        .filter(variants::user_id.eq(user))
        .filter(variants::locale.eq(locale))
        .filter(variants::deleted_at.is_null())
        .order((variants::created_at, variants::id))
        .limit(LONGEST)
        .select(SidebarVariant::as_select());
    Ok(Prepared(statement).load(&mut &*connection).await?)
}

/// Returns one of the caller's variants in a locale.
///
/// # Errors
/// If the database can't be reached.
pub async fn variant(
    connection: &AsyncPgConnection,
    scope: &Scope,
    user: Uuid,
    locale: &str,
    id: Uuid,
) -> Result<Option<SidebarVariant>> {
    let statement = variants::table
        .filter(scope.owns(variants::tenant_id))
        .filter(variants::user_id.eq(user).and(variants::locale.eq(locale)))
        .filter(variants::id.eq(id))
        .filter(variants::deleted_at.is_null())
        .select(SidebarVariant::as_select());
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns the caller's active variant in a locale.
///
/// # Errors
/// If the database can't be reached.
pub async fn active_variant(
    connection: &AsyncPgConnection,
    scope: &Scope,
    user: Uuid,
    locale: &str,
) -> Result<Option<SidebarVariant>> {
    let statement = variants::table
        .filter(scope.owns(variants::tenant_id))
        .filter(variants::user_id.eq(user).and(variants::locale.eq(locale)))
        .filter(variants::is_active)
        .filter(variants::deleted_at.is_null())
        .select(SidebarVariant::as_select());
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Locks a live user, so that only one transaction at a time changes what belongs to them (their sidebar, their devices) or deletes them.
///
/// # Errors
/// 404 if there is no such user in the tenant, or if the database can't be reached.
pub async fn lock_user(connection: &AsyncPgConnection, tenant: Uuid, user: Uuid) -> Result<()> {
    let found: Option<Uuid> = users::table
        .filter(users::tenant_id.eq(tenant))
        .filter(users::id.eq(user))
        .filter(users::deleted_at.is_null())
        .select(users::id)
        .for_no_key_update()
        .first(&mut &*connection)
        .await
        .optional()?;
    match found {
        Some(_) => Ok(()),
        None => Err(Rejection::not_found(User::NOT_FOUND).into()),
    }
}
