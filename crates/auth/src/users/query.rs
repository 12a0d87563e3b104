//! Reads of users.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backoffice_core::command::{Entity, LockedRow};
use backoffice_core::db::{KeyColumn, Prepared, Recurring};
use backoffice_core::ids::PLATFORM_TENANT;
use backoffice_core::list::{Keys, Page, Start, Window, find_with};
use backoffice_core::scope::{Owned, VisibleTenants};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use backoffice_directory::query::in_live_tenant;
use diesel::dsl::{Filter, IsNull, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Bool, Jsonb, Nullable, Text, Uuid as SqlUuid};
use diesel::{
    BoxableExpression, ExpressionMethods, OptionalExtension, PgTextExpressionMethods, QueryDsl, Queryable,
    QueryableByName, SelectableHelper, sql_query,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::model::User;
use crate::accounts::Accounts;
use crate::roles::model::UserAcl;
use crate::schema::{auth_user_acls, auth_users as users};

/// A role of a user in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RoleOfUser {
    /// The id.
    pub id: Uuid,
    /// The name.
    pub name: String,
    /// Whether the role has the super-admin flag: only super administrators see it.
    pub is_hidden: bool,
}

/// A user in a list.
#[derive(Debug, Clone, Queryable)]
pub struct UserSummary {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// E-mail address as typed.
    pub email: String,
    /// Name.
    pub name: Option<String>,
    /// The organization.
    pub organization_id: Option<Uuid>,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Whether the user is confirmed.
    pub is_confirmed: bool,
    /// Last sign-in.
    pub last_login_at: Option<Timestamp>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Whether the user has a password.
    pub has_password: bool,
}

/// What lists show beside a user.
#[derive(Debug, Clone, Default)]
pub struct BesideUser {
    /// Name of the tenant.
    pub tenant_name: Option<String>,
    /// Name of the organization.
    pub organization_name: Option<String>,
    /// The roles, by name.
    pub roles: Vec<RoleOfUser>,
}

/// Filter of a list of users.
#[derive(Debug, Clone, Default)]
pub struct UserFilter {
    /// Only these ids; an empty list matches nothing.
    pub ids: Option<Vec<Uuid>>,
    /// Pattern for e-mail, name, organization name and role name.
    pub pattern: Option<String>,
    /// The users that match `pattern`; `None` when every user must be compared.
    pub found: Option<Vec<Uuid>>,
    /// Pattern for the name.
    pub name_pattern: Option<String>,
    /// Only users of this organization.
    pub organization: Option<Uuid>,
    /// Only users with any of these roles; an empty list matches nothing.
    pub roles: Option<Vec<Uuid>>,
}

/// Live users of the visible tenants.
pub(crate) type InScope = Filter<Filter<users::table, Owned<users::tenant_id>>, IsNull<users::deleted_at>>;

/// Returns the live users in scope; every statement on users starts here.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    users::table
        .filter(scope.owns(users::tenant_id))
        .filter(users::deleted_at.is_null())
}

/// Excludes the super administrators of a tenant; they are few, and are looked up once per statement.
const SUPER_ADMINS: &str = "auth_users.id <> all (array( \
    select a.user_id from auth_user_acls a where a.is_super_admin and a.tenant_id = ";
const SUPER_ADMINS_BY_ROLE: &str = " union all \
    select l.user_id from auth_role_acls a \
    join auth_user_roles l on l.role_tenant_id = a.tenant_id and l.role_id = a.role_id \
    where a.is_super_admin and not exists ( \
        select 1 from auth_user_acls o where o.tenant_id = l.tenant_id and o.user_id = l.user_id) \
      and l.tenant_id = ";

/// Returns the users that the caller may see (accounts specification, section 4.3).
fn visible<'a>(context: &RequestContext) -> users::BoxedQuery<'a, Pg> {
    let scope = context.scope();
    let query = in_scope(scope)
        .filter(scope.within(users::organization_id))
        .filter(in_live_tenant(context, users::tenant_id))
        .into_boxed();
    match visible_among_scope(context) {
        Some(condition) => query.filter(condition),
        None => query,
    }
}

/// The condition of a statement on a table, or a join, with `auth_users`.
type Condition<T> = Box<dyn BoxableExpression<T, Pg, SqlType = Bool>>;

/// Returns the condition under which the caller may see a user of their tenant and organizations; `None` if they may see all of them. For
/// statements of other modules that read `auth_users`: only super administrators see those of a tenant.
#[must_use]
pub fn visible_among_scope<T: 'static>(context: &RequestContext) -> Option<Condition<T>> {
    match context.scope().visible_tenants {
        VisibleTenants::Tenant(tenant) if !context.rights().is_super_admin => {
            let caller = context.identity().id.unwrap_or_default();
            Some(Box::new(
                sql::<Bool>("(auth_users.id = ")
                    .bind::<SqlUuid, _>(caller)
                    .sql(" or ")
                    .sql(SUPER_ADMINS)
                    .bind::<SqlUuid, _>(tenant)
                    .sql(SUPER_ADMINS_BY_ROLE)
                    .bind::<SqlUuid, _>(tenant)
                    .sql(")))"),
            ))
        }
        _ => None,
    }
}

/// Locks users that the caller may see, by ascending id.
pub(crate) async fn lock(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    ids: &[Uuid],
) -> Result<Vec<LockedRow>> {
    let seen = seen(connection, context, ids).await?;
    let rows = in_scope(context.scope())
        .filter(users::id.one_of(seen))
        .order(users::id);
    let rows = rows.select((users::id, users::tenant_id)).for_update();
    Ok(rows.prepared().load(&mut &*connection).await?)
}

/// Returns those of these users that the caller may see.
pub(crate) async fn seen(connection: &AsyncPgConnection, context: &RequestContext, ids: &[Uuid]) -> Result<Vec<Uuid>> {
    Ok(visible(context)
        .filter(users::id.one_of(ids))
        .select(users::id)
        .prepared()
        .load(&mut &*connection)
        .await?)
}

/// Returns a user that the caller may see.
///
/// # Errors
/// If the database can't be reached.
pub async fn find(connection: &mut AsyncPgConnection, context: &RequestContext, id: Uuid) -> Result<Option<User>> {
    Ok(visible(context)
        .filter(users::id.eq(id))
        .select(User::as_select())
        .limit(1)
        .prepared()
        .get_result(connection)
        .await
        .optional()?)
}

/// Returns the caller's own row, whatever organization is selected.
///
/// # Errors
/// If the database can't be reached.
pub async fn own(connection: &AsyncPgConnection, scope: &Scope, id: Uuid) -> Result<Option<User>> {
    let statement = in_scope(scope).filter(users::id.eq(id)).select(User::as_select());
    Ok(Prepared(statement).get_result(&mut &*connection).await.optional()?)
}

/// Returns a user's own ACL.
///
/// # Errors
/// If the database can't be reached.
pub async fn acl(connection: &mut AsyncPgConnection, user: &User) -> Result<Option<UserAcl>> {
    Ok(auth_user_acls::table
        .filter(auth_user_acls::tenant_id.eq(user.tenant_id))
        .filter(auth_user_acls::user_id.eq(user.id))
        .select(UserAcl::as_select())
        .limit(1)
        .prepared()
        .get_result(connection)
        .await
        .optional()?)
}

/// Returns the stored hash of a user's password.
pub(crate) async fn password_hash(
    connection: &mut AsyncPgConnection,
    tenant: Uuid,
    id: Uuid,
) -> Result<Option<String>> {
    let hash: Option<Option<String>> = users::table
        .filter(users::tenant_id.eq(tenant))
        .filter(users::id.eq(id))
        .filter(users::deleted_at.is_null())
        .select(users::password_hash)
        .limit(1)
        .prepared()
        .get_result(connection)
        .await
        .optional()?;
    Ok(hash.flatten())
}

/// Returns a page of users, by e-mail address, with what the caller sees beside them, and their total.
///
/// # Errors
/// If the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    filter: &UserFilter,
    window: Window,
) -> Result<Page<(UserSummary, Arc<BesideUser>)>> {
    let find = match context.rights().is_super_admin {
        true => FIND,
        false => FIND_BY_VISIBLE,
    };
    let found = find_with(context, connection, find, User::KIND, filter.pattern.as_deref()).await?;
    let filter = &UserFilter {
        found,
        ..filter.clone()
    };
    let keys = Keys::ascending("auth_users.email_norm", "auth_users.id");
    let rows = async |start: Start| {
        let page = start.of::<users::table, _>(filtered(context, filter));
        let rows = page.order(keys.expression()).select((
            users::tenant_id,
            users::id,
            users::email,
            users::name,
            users::organization_id,
            users::is_active,
            users::is_confirmed,
            users::last_login_at,
            users::created_at,
            users::updated_at,
            users::password_hash.is_not_null(),
        ));
        start.limited(rows).load(&mut &*connection).await
    };
    let total = filtered(context, filter).select(count_star());
    let id = |user: &UserSummary| (user.tenant_id, user.id);
    let page: Page<UserSummary> = window
        .fetch_from(context, connection, keys, id, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await?;
    let mut beside = beside(connection, context, &page.items).await?;
    Ok(page.map(|user| {
        let known = beside.remove(&user.id);
        (user, shown(context, known.unwrap_or_default()))
    }))
}

/// Returns what the caller sees beside a user. The cache has the hidden roles too, because super administrators of a tenant share it.
fn shown(context: &RequestContext, known: Arc<BesideUser>) -> Arc<BesideUser> {
    if context.rights().is_super_admin || !known.roles.iter().any(|role| role.is_hidden) {
        return known;
    }
    let mut shown = Arc::unwrap_or_clone(known);
    shown.roles.retain(|role| !role.is_hidden);
    Arc::new(shown)
}

/// One look-up for all users of a page. The rows of the arrays are few, so each name is found by its key.
const BESIDE: &str = "\
select u.id, t.name as tenant_name, o.name as organization_name, \
    coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name, 'is_hidden', exists ( \
            select from auth_role_acls a where a.tenant_id = r.tenant_id and a.role_id = r.id and a.is_super_admin)) \
            order by r.name_norm, r.id) \
        from auth_user_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
        where l.tenant_id = u.tenant_id and l.user_id = u.id), '[]') as roles \
from unnest($1, $2, $3) as u (tenant_id, id, organization_id) \
left join directory_tenants t on t.tenant_id = u.tenant_id and t.id = u.tenant_id \
left join directory_organizations o on o.tenant_id = u.tenant_id and o.id = u.organization_id";

#[derive(QueryableByName)]
struct BesideRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<Text>)]
    tenant_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    organization_name: Option<String>,
    #[diesel(sql_type = Jsonb)]
    roles: Value,
}

/// Returns what is known beside these users.
async fn beside(
    mut connection: &AsyncPgConnection,
    context: &RequestContext,
    users: &[UserSummary],
) -> Result<HashMap<Uuid, Arc<BesideUser>>> {
    let accounts: Arc<Accounts> = context.call().provided()?;
    let ids = users.iter().map(|user| user.id);
    let load = async |missing: HashSet<Uuid>| {
        let users = || users.iter().filter(|user| missing.contains(&user.id));
        let statement = sql_query(BESIDE)
            .bind::<Array<SqlUuid>, _>(users().map(|user| user.tenant_id).collect::<Vec<_>>())
            .bind::<Array<SqlUuid>, _>(users().map(|user| user.id).collect::<Vec<_>>())
            .bind::<Array<Nullable<SqlUuid>>, _>(users().map(|user| user.organization_id).collect::<Vec<_>>());
        let rows: Vec<BesideRow> = Prepared(statement).load(&mut connection).await?;
        let found = rows.into_iter().map(|row| {
            let user = BesideUser {
                tenant_name: row.tenant_name,
                organization_name: row.organization_name,
                roles: serde_json::from_value(row.roles)?,
            };
            Ok((row.id, Arc::new(user)))
        });
        found.collect::<Result<Vec<_>>>()
    };
    context.beside(&accounts.beside_users, ids, load).await
}

fn filtered<'a>(context: &RequestContext, filter: &UserFilter) -> users::BoxedQuery<'a, Pg> {
    let mut query = visible(context);
    if let Some(ids) = &filter.ids {
        query = query.filter(users::id.one_of(ids.clone()));
    }
    if let Some(organization) = filter.organization {
        query = query.filter(users::organization_id.eq(organization));
    }
    if let Some(pattern) = &filter.name_pattern {
        query = query.filter(users::name.ilike(pattern.clone()));
    }
    match (&filter.found, &filter.pattern) {
        (Some(found), _) => query = query.filter(users::id.eq_any(found.clone())),
        (None, Some(pattern)) => query = query.filter(matches(context, pattern)),
        (None, None) => {}
    }
    if let Some(roles) = &filter.roles {
        query = query.filter(
            sql::<Bool>(
                "exists (select 1 from auth_user_roles l \
                  where l.tenant_id = auth_users.tenant_id and l.user_id = auth_users.id and l.role_id = any(",
            )
            .bind::<Array<SqlUuid>, _>(roles.clone())
            .sql(") and (")
            .bind::<Bool, _>(context.rights().is_super_admin)
            // Other callers see no role with the super-admin flag, and must not find out who has one.
            .sql(
                " or not exists (select 1 from auth_role_acls a \
                  where a.tenant_id = l.role_tenant_id and a.role_id = l.role_id and a.is_super_admin)))",
            ),
        );
    }
    query
}

/// The users that match a search, for [`find_with`]. Texts of organizations and of the tenant's roles come from the index too; the platform's roles
/// are few. `$visible` limits the roles `b` that are searched.
macro_rules! find {
    ($visible:literal) => {
        concat!(
            "\
with u as materialized (select app_find_texts($1, $2, $3, $4, $5) as ids), \
o as materialized (select app_find_texts($1, 'directory.organization', $3, $4, $5) as ids), \
r as materialized (select app_find_texts($1, 'auth.role', $3, $4, $5) as ids) \
select case when greatest(cardinality(u.ids), cardinality(o.ids), cardinality(r.ids)) < $5 then array( \
    (select a.id from auth_users a where a.tenant_id = $1 and a.id = any(u.ids) \
        and (position($4 in a.email_norm) > 0 or coalesce(a.name ilike x.pattern, false))) \
    union all (select a.id from auth_users a where a.tenant_id = $1 and a.organization_id = any(array( \
        select b.id from directory_organizations b where b.tenant_id = $1 and b.id = any(o.ids) and b.name ilike x.pattern)) limit $5) \
    union all (select l.user_id from auth_user_roles l \
        where l.tenant_id = $1 and l.role_tenant_id = $1 and l.role_id = any(array( \
            select b.id from auth_roles b where b.tenant_id = $1 and b.id = any(r.ids) and b.name ilike x.pattern",
            $visible,
            ")) limit $5) \
    union all (select l.user_id from auth_user_roles l \
        where l.tenant_id = $1 and l.role_tenant_id = '00000000-0000-0000-0000-000000000000' and l.role_id = any(array( \
            select b.id from auth_roles b \
            where b.tenant_id = '00000000-0000-0000-0000-000000000000' and b.name ilike x.pattern",
            $visible,
            ")) limit $5) \
    limit $5) end as ids \
from u, o, r, (select '%' || regexp_replace($3, '([%_\\\\])', '\\\\\\1', 'g') || '%' as pattern) x"
        )
    };
}

/// Finds users by all of their roles, for super administrators.
const FIND: &str = find!("");
/// Finds users by the roles that other callers see.
const FIND_BY_VISIBLE: &str = find!(
    " and not exists (select from auth_role_acls c where c.tenant_id = b.tenant_id and c.role_id = b.id and c.is_super_admin)"
);
/// The same condition on a role `r`.
const IS_VISIBLE: &str = " and not exists (select from auth_role_acls c where c.tenant_id = r.tenant_id and c.role_id = r.id and c.is_super_admin)";

/// Returns the condition that the address, the name, the organization's name or the name of a role that the caller sees matches. The organizations
/// and roles are searched once, not for each user. Addresses are compared in lower case, which is stored.
fn matches(context: &RequestContext, pattern: &str) -> Box<dyn BoxableExpression<users::table, Pg, SqlType = Bool>> {
    // For a caller of all tenants, the conditions on the tenant hold for every one: no id is less than the nil UUID.
    let (equal, one_of, tenant) = match context.scope().visible_tenants {
        VisibleTenants::Tenant(tenant) => ("=", "= any", tenant),
        VisibleTenants::All => (">=", ">= all", Uuid::nil()),
    };
    let visible = match context.rights().is_super_admin {
        true => "",
        false => IS_VISIBLE,
    };
    let (lower, pattern) = (pattern.to_lowercase(), pattern.to_owned());
    Box::new(
        sql::<Bool>("(auth_users.email_norm like ")
            .bind::<Text, _>(lower)
            .sql(" or coalesce(auth_users.name ilike ")
            .bind::<Text, _>(pattern.clone())
            .sql(&format!(
                ", false) or (auth_users.tenant_id, auth_users.organization_id) in \
                  (select o.tenant_id, o.id from directory_organizations o where o.tenant_id {equal} "
            ))
            .bind::<SqlUuid, _>(tenant)
            .sql(" and o.name ilike ")
            .bind::<Text, _>(pattern.clone())
            .sql(&format!(
                ") or (auth_users.tenant_id, auth_users.id) in (select l.tenant_id, l.user_id from auth_user_roles l \
                  join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id where l.tenant_id {equal} "
            ))
            .bind::<SqlUuid, _>(tenant)
            .sql(&format!(" and r.tenant_id {one_of} ("))
            .bind::<Array<SqlUuid>, _>(vec![tenant, PLATFORM_TENANT])
            .sql(") and r.name ilike ")
            .bind::<Text, _>(pattern)
            .sql(&format!("{visible}))")),
    )
}
