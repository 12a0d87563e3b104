//! Reads of roles.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backoffice_core::command::LockedRow;
use backoffice_core::crud;
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::list::{Page, Window};
use backoffice_core::scope::{Owned, VisibleTenants};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use backoffice_directory::query::in_live_tenant;
use diesel::dsl::{Filter, auto_type, count_star, exists, not, select};
use diesel::pg::Pg;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_types::{Array, BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, Queryable,
    QueryableByName, SelectableHelper, sql_query,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::model::{Role, RoleAcl};
use crate::accounts::Accounts;
use crate::schema::{auth_role_acls as acls, auth_roles as roles};

/// A role in a list.
#[derive(Debug, Clone, Queryable, QueryableByName)]
pub struct RoleSummary {
    /// The tenant; the nil UUID for a global role.
    #[diesel(sql_type = SqlUuid)]
    pub tenant_id: Uuid,
    /// The id.
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    /// The name.
    #[diesel(sql_type = Text)]
    pub name: String,
    /// Time of creation.
    #[diesel(sql_type = Timestamptz)]
    pub created_at: Timestamp,
    /// Time of the last change.
    #[diesel(sql_type = Timestamptz)]
    pub updated_at: Timestamp,
}

/// What lists show beside a role.
#[derive(Debug, Clone, Default)]
pub struct BesideRole {
    /// Name of the tenant.
    pub tenant_name: Option<String>,
    /// Number of live users in the visible tenants that hold the role.
    pub users_count: i64,
}

/// Filter of a list of roles.
#[derive(Debug, Clone, Default)]
pub struct RoleFilter {
    /// Only these ids; an empty list matches nothing.
    pub ids: Option<Vec<Uuid>>,
    /// Pattern for the name.
    pub name_pattern: Option<String>,
    /// Only roles of this tenant and global ones.
    pub tenant: Option<Uuid>,
}

/// Roles of the visible tenants and global ones.
pub(crate) type InScope = Filter<roles::table, Owned<roles::tenant_id>>;

/// Returns the roles in scope; every statement on roles starts here.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    roles::table.filter(scope.owns_or_global(roles::tenant_id))
}

/// Returns the roles that the caller may see, without those of deleted tenants: only super administrators see roles with the super-admin flag.
pub(crate) fn visible<'a>(context: &RequestContext) -> roles::BoxedQuery<'a, Pg> {
    let query = in_scope(context.scope())
        .filter(in_live_tenant(context, roles::tenant_id))
        .into_boxed();
    if context.rights().is_super_admin {
        return query;
    }
    query.filter(not(exists(super_admin_acl())))
}

/// Returns the access control list of a role, if it has the super-admin flag.
#[auto_type(no_type_alias)]
fn super_admin_acl() -> _ {
    acls::table
        .filter(acls::tenant_id.eq(roles::tenant_id))
        .filter(acls::role_id.eq(roles::id))
        .filter(acls::is_super_admin)
}

/// Locks roles that the caller may see, by ascending id.
pub(crate) async fn lock(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    ids: &[Uuid],
) -> Result<Vec<LockedRow>> {
    let rows = in_scope(context.scope()).filter(roles::id.one_of(ids));
    if context.rights().is_super_admin {
        let rows = rows.filter(in_live_tenant(context, roles::tenant_id));
        let rows = rows.order(roles::id).select(Role::as_select()).for_update();
        return Ok(crud::locked(rows.load::<Role>(&mut &*connection).await?));
    }
    let rows = rows.filter(not(exists(super_admin_acl())));
    let rows = rows.order(roles::id).select(Role::as_select()).for_update();
    let rows: Vec<Role> = rows.load(&mut &*connection).await?;
    if rows.len() < ids.len() {
        // Other callers see global roles, but row-level security lets them neither lock nor write one.
        let of_platform = visible(context)
            .filter(roles::id.one_of(ids))
            .filter(roles::tenant_id.eq(PLATFORM_TENANT));
        if select(exists(of_platform)).get_result(&mut &*connection).await? {
            return Err(crate::Error::GlobalRole.into());
        }
    }
    Ok(crud::locked(rows))
}

/// Returns a role that the caller may see.
///
/// # Errors
/// If the database can't be reached.
pub async fn find(connection: &mut AsyncPgConnection, context: &RequestContext, id: Uuid) -> Result<Option<Role>> {
    Ok(visible(context)
        .filter(roles::id.eq(id))
        .select(Role::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Returns the ACL of a role.
///
/// # Errors
/// If the database can't be reached.
pub async fn acl(connection: &mut AsyncPgConnection, role: &Role) -> Result<Option<RoleAcl>> {
    Ok(acls::table
        .filter(acls::tenant_id.eq(role.tenant_id))
        .filter(acls::role_id.eq(role.id))
        .select(RoleAcl::as_select())
        .first(connection)
        .await
        .optional()?)
}

/// Returns a page of roles, by name, with what is shown beside them, and their total.
///
/// # Errors
/// If the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    filter: &RoleFilter,
    window: Window,
) -> Result<Page<(RoleSummary, BesideRole)>> {
    let filtered = || {
        let mut query = visible(context);
        if let Some(ids) = &filter.ids {
            query = query.filter(roles::id.one_of(ids.clone()));
        }
        if let Some(pattern) = &filter.name_pattern {
            query = query.filter(roles::name.ilike(pattern.clone()));
        }
        if let Some(tenant) = filter.tenant {
            query = query.filter(roles::tenant_id.eq_any([tenant, PLATFORM_TENANT]));
        }
        query
    };
    let total = filtered().select(count_star());
    let total = || Prepared(total).get_result(&mut &*connection);
    let page: Page<RoleSummary> = match context.scope().visible_tenants {
        VisibleTenants::Tenant(tenant) => {
            let rows = Prepared(page_of_tenant(context, tenant, filter, window)).load(&mut &*connection);
            window.fetch(context, connection, rows, total).await?
        }
        VisibleTenants::All => {
            let rows = filtered().order((roles::name_norm.asc(), roles::id.asc())).select((
                roles::tenant_id,
                roles::id,
                roles::name,
                roles::created_at,
                roles::updated_at,
            ));
            let rows = window.limited(rows).load(&mut &*connection);
            window.fetch(context, connection, rows, total).await?
        }
    };
    let mut beside = beside(connection, context, &page.items).await?;
    Ok(page.map(|role| {
        let known = beside.remove(&role.id);
        (role, known.unwrap_or_default())
    }))
}

/// Returns the statement for a page of the roles of a tenant and the global ones. Each half comes from the index in the order of the list; one
/// condition on both tenants would sort all roles.
fn page_of_tenant(
    context: &RequestContext,
    tenant: Uuid,
    filter: &RoleFilter,
    window: Window,
) -> BoxedSqlQuery<'static, Pg, SqlQuery> {
    // Only super administrators see roles with the super-admin flag, and only they can name a deleted tenant.
    let mut conditions = String::from(match context.rights().is_super_admin {
        true => {
            " and not exists (select from directory_tenants d where d.tenant_id = auth_tenant and d.deleted_at is not null)"
        }
        false => {
            " and id <> all (array(select a.role_id from auth_role_acls a where a.tenant_id = auth_tenant and a.is_super_admin))"
        }
    });
    let mut number = 2;
    let mut next = || {
        number += 1;
        number
    };
    if filter.ids.is_some() {
        conditions.push_str(&format!(" and id = any(${})", next()));
    }
    if filter.name_pattern.is_some() {
        conditions.push_str(&format!(" and name ilike ${}", next()));
    }
    // The limit of a first page is part of the text, as that of `Limited` is.
    let (of_half, of_page) = if let Some(limit) = window.constant_limit() {
        (limit.to_string(), limit.to_string())
    } else {
        let (limit, offset) = (next(), next());
        (format!("${limit} + ${offset}"), format!("${limit} offset ${offset}"))
    };
    let half = |tenant: &str| {
        let conditions = conditions.replace("auth_tenant", tenant);
        format!(
            "(select * from auth_roles where tenant_id = {tenant}{conditions} order by name_norm, id limit {of_half})"
        )
    };
    let (own, global) = (half("$1"), half("$2"));
    let text = format!(
        "select tenant_id, id, name, created_at, updated_at from ({own} union all {global}) as halves \
         order by name_norm, id limit {of_page}"
    );
    // No role has the largest id as its tenant: a filter by another tenant leaves only the global roles, and these occur once for the platform.
    let tenant = match filter.tenant {
        Some(named) if named != tenant => Uuid::max(),
        _ if tenant == PLATFORM_TENANT => Uuid::max(),
        _ => tenant,
    };
    let mut statement = sql_query(text)
        .into_boxed()
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(PLATFORM_TENANT);
    if let Some(ids) = &filter.ids {
        statement = statement.bind::<Array<SqlUuid>, _>(ids.clone());
    }
    if let Some(pattern) = &filter.name_pattern {
        statement = statement.bind::<Text, _>(pattern.clone());
    }
    if window.constant_limit().is_none() {
        statement = statement
            .bind::<BigInt, _>(window.limit())
            .bind::<BigInt, _>(window.offset());
    }
    statement
}

/// A global role is held in all tenants; `$in_tenant` limits the holders to visible tenants. A single one is a condition of the index.
macro_rules! beside {
    ($in_tenant:literal) => {
        concat!(
            "select r.id, \
                (select t.name from directory_tenants t where t.tenant_id = r.tenant_id and t.id = r.tenant_id) as tenant_name, \
                (select count(*) from auth_user_roles l \
                    join auth_users u on u.tenant_id = l.tenant_id and u.id = l.user_id and u.deleted_at is null \
                    where l.role_tenant_id = r.tenant_id and l.role_id = r.id",
            $in_tenant,
            ") as users \
            from unnest($1, $2) as r (tenant_id, id)"
        )
    };
}

#[derive(QueryableByName)]
struct BesideRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<Text>)]
    tenant_name: Option<String>,
    #[diesel(sql_type = BigInt)]
    users: i64,
}

/// Returns what is shown beside these roles.
async fn beside(
    mut connection: &AsyncPgConnection,
    context: &RequestContext,
    roles: &[RoleSummary],
) -> Result<HashMap<Uuid, BesideRole>> {
    let accounts: Arc<Accounts> = context.call().provided()?;
    let ids = roles.iter().map(|role| role.id);
    let load = async |missing: HashSet<Uuid>| {
        let roles = roles.iter().filter(|role| missing.contains(&role.id));
        let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = roles.map(|role| (role.tenant_id, role.id)).unzip();
        let statement = |text: &str| {
            sql_query(text)
                .bind::<Array<SqlUuid>, _>(tenants)
                .bind::<Array<SqlUuid>, _>(ids)
        };
        let rows: Vec<BesideRow> = match context.scope().visible_tenants {
            VisibleTenants::Tenant(tenant) => {
                let statement = statement(beside!(" and l.tenant_id = $3")).bind::<SqlUuid, _>(tenant);
                Prepared(statement).load(&mut connection).await?
            }
            VisibleTenants::All => {
                let statement = statement(beside!(
                    " and not exists (select from directory_tenants d where d.tenant_id = l.tenant_id and d.deleted_at is not null)"
                ));
                Prepared(statement).load(&mut connection).await?
            }
        };
        Ok(rows.into_iter().map(|row| {
            let role = BesideRole {
                tenant_name: row.tenant_name,
                users_count: row.users,
            };
            (row.id, role)
        }))
    };
    context.beside(&accounts.beside_roles, ids, load).await
}

/// Finds roles by id or name (the tenant's role before a global one). The inner error lists those that were not found.
///
/// # Errors
/// If the database can't be reached.
pub(crate) async fn resolve(
    connection: &mut AsyncPgConnection,
    context: &RequestContext,
    tenant: Uuid,
    named: &[String],
) -> Result<std::result::Result<Vec<(Uuid, Uuid)>, Vec<String>>> {
    let ids: Vec<Uuid> = named.iter().filter_map(|name| name.parse().ok()).collect();
    let names: Vec<String> = named.iter().map(|name| name.trim().to_lowercase()).collect();
    let found: Vec<(Uuid, Uuid, String)> = visible(context)
        .filter(roles::tenant_id.one_of(vec![tenant, PLATFORM_TENANT]))
        .filter(roles::id.one_of(ids).or(roles::name_norm.one_of(names)))
        .select((roles::tenant_id, roles::id, roles::name_norm))
        .load(connection)
        .await?;
    let by_id: HashMap<Uuid, (Uuid, Uuid)> = found.iter().map(|(owner, id, _)| (*id, (*owner, *id))).collect();
    let by_name = |name: &str| {
        let candidates = found.iter().filter(|(_, _, norm)| norm == name);
        candidates
            .min_by_key(|(owner, ..)| *owner == PLATFORM_TENANT)
            .map(|(owner, id, _)| (*owner, *id))
    };
    let (mut resolved, mut missing) = (Vec::new(), Vec::new());
    for name in named {
        let role = match name.parse::<Uuid>() {
            Ok(id) => by_id.get(&id).copied(),
            Err(_) => by_name(&name.trim().to_lowercase()),
        };
        match role {
            Some(role) if resolved.contains(&role) => {}
            Some(role) => resolved.push(role),
            None => missing.push(name.clone()),
        }
    }
    Ok(if missing.is_empty() { Ok(resolved) } else { Err(missing) })
}

/// Whether a user of a tenant that is not deleted holds the role.
pub(crate) async fn is_held(
    connection: &mut AsyncPgConnection,
    context: &RequestContext,
    tenant: Uuid,
    role: Uuid,
) -> Result<bool> {
    use crate::schema::auth_user_roles as links;
    let held: bool = select(exists(
        links::table
            .filter(links::role_tenant_id.eq(tenant))
            .filter(links::role_id.eq(role))
            .filter(in_live_tenant(context, links::tenant_id)),
    ))
    .get_result(connection)
    .await?;
    Ok(held)
}
