//! Reads of users. One further statement reads the roles and invitations of a whole page, and for a filter by role one before reads the roles of the team.

use std::collections::HashMap;

use backoffice_auth::query::users::visible_among_scope;
use backoffice_core::command::Tx;
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Page, Window, find_texts};
use backoffice_core::{RequestContext, Result, Timestamp};
use diesel::dsl::{IsNotNull, array, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Array, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, OptionalExtension, PgSortExpressionMethods, PgTextExpressionMethods,
    QueryDsl, Queryable, QueryableByName, Selectable, SelectableHelper, TextExpressionMethods, sql_query,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use crate::foreign::{auth_roles as roles, auth_users as users, users_among};
use crate::values::{ROLE_NAMES, TeamRole, UserStatus};

/// The kind of users.
pub(crate) const USER_KIND: &str = "auth.user";

/// A user of the tenant.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users, check_for_backend(Pg))]
pub struct TeamUser {
    /// The tenant.
    pub tenant_id: Uuid,
    /// The id.
    pub id: Uuid,
    /// The organization.
    pub organization_id: Option<Uuid>,
    /// E-mail address.
    pub email: String,
    /// Name.
    pub name: Option<String>,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Whether the user has a password.
    #[diesel(select_expression = users::password_hash.is_not_null(), select_expression_type = IsNotNull<users::password_hash>)]
    pub has_password: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl TeamUser {
    /// Returns the state.
    #[must_use]
    pub const fn status(&self) -> UserStatus {
        UserStatus::new(self.is_active, self.has_password)
    }
}

/// The role and the invitation of a user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BesideUser {
    /// The first of the roles of the team that the user holds.
    pub role: Option<TeamRole>,
    /// The latest invitation that is neither used nor voided; its link may have expired.
    pub invitation: Option<Invitation>,
}

/// An invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    /// When the mail was sent; `None` if it was not.
    pub sent_at: Option<Timestamp>,
    /// When the link stops working.
    pub expires_at: Timestamp,
}

/// Filter by the role that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleFilter {
    /// Users with this role.
    Shown(TeamRole),
    /// Users without a role of the team.
    None,
}

/// Filter of a list of users.
#[derive(Debug, Clone, Default)]
pub struct UserFilter {
    /// Only these ids; an empty list matches nothing.
    pub ids: Option<Vec<Uuid>>,
    /// Pattern for name and e-mail address.
    pub pattern: Option<String>,
    /// Only users with this role, or with none.
    pub role: Option<RoleFilter>,
    /// Only users in this state.
    pub status: Option<UserStatus>,
}

/// Returns a page of users, by name (users without one last), e-mail address and id.
///
/// # Errors
/// If the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    filter: &UserFilter,
    window: Window,
) -> Result<Page<(TeamUser, BesideUser)>> {
    let found = find_texts(context, connection, USER_KIND, filter.pattern.as_deref()).await?;
    let roles = match filter.role {
        None => Vec::new(),
        Some(_) => team_roles(connection, context).await?,
    };
    let filtered = || filtered(context, filter, found.as_deref(), &roles);
    let rows = through_organizations(context, filter, filtered())
        .order((users::name.asc().nulls_last(), users::email_norm.asc(), users::id.asc()))
        .select(TeamUser::as_select());
    let total = filtered().select(count_star());
    let rows = window.limited(rows).load(&mut &*connection);
    let page: Page<TeamUser> = window
        .fetch(context, connection, rows, || {
            Prepared(total).get_result(&mut &*connection)
        })
        .await?;
    let mut beside = beside(connection, &page.items).await?;
    Ok(page.map(|user| {
        let known = beside.remove(&user.id);
        (user, known.unwrap_or_default())
    }))
}

/// Returns a user that the caller may see.
///
/// # Errors
/// If the database can't be reached.
pub async fn find(
    connection: &AsyncPgConnection,
    context: &RequestContext,
    id: Uuid,
) -> Result<Option<(TeamUser, BesideUser)>> {
    context.read_version_first(connection).await?;
    let statement = in_scope(context).filter(users::id.eq(id)).select(TeamUser::as_select());
    let user: Option<TeamUser> = Prepared(statement).get_result(&mut &*connection).await.optional()?;
    let Some(user) = user else { return Ok(None) };
    let beside = beside(connection, std::slice::from_ref(&user)).await?.remove(&user.id);
    Ok(Some((user, beside.unwrap_or_default())))
}

/// Returns whether a user that the transaction has locked may sign in, and whether they have a password.
///
/// # Errors
/// If the database can't be reached.
pub async fn activity_and_password(tx: &mut Tx<'_>, id: Uuid) -> Result<(bool, bool)> {
    let statement = users::table
        .filter(users::tenant_id.eq(tx.tenant()))
        .filter(users::id.eq(id));
    Ok(statement
        .select((users::is_active, users::password_hash.is_not_null()))
        .first(tx.conn())
        .await?)
}

fn in_scope<'a>(context: &RequestContext) -> users::BoxedQuery<'a, Pg> {
    let scope = context.scope();
    let query = users::table
        .filter(scope.owns(users::tenant_id))
        .filter(users::deleted_at.is_null())
        .filter(scope.within(users::organization_id))
        .into_boxed();
    match visible_among_scope::<users::table>(context) {
        Some(condition) => query.filter(condition),
        None => query,
    }
}

/// A role of the team: its tenant, id and name.
type RoleKey = (Uuid, Uuid, String);

/// Returns the roles of the team that users may hold.
async fn team_roles(connection: &AsyncPgConnection, context: &RequestContext) -> Result<Vec<RoleKey>> {
    // The version comes first: rows that change after it make a tag too old, not a page.
    context.read_version_first(connection).await?;
    let named = roles::table
        .filter(context.scope().owns_or_global(roles::tenant_id))
        .filter(roles::name_norm.eq_any(ROLE_NAMES))
        .select((roles::tenant_id, roles::id, roles::name_norm));
    Ok(Prepared(named).load(&mut &*connection).await?)
}

/// The roles are values, because PostgreSQL knows how many users hold each of them: if many do, it finds a page in the order of the list.
const HOLDS: &str = "exists (select from auth_user_roles l \
    where l.tenant_id = auth_users.tenant_id and l.user_id = auth_users.id and l.role_tenant_id = any(";

fn filtered<'a>(
    context: &RequestContext,
    filter: &UserFilter,
    found: Option<&[Uuid]>,
    roles: &[RoleKey],
) -> users::BoxedQuery<'a, Pg> {
    let mut query = in_scope(context);
    if let Some(ids) = &filter.ids {
        query = query.filter(users::id.one_of(ids.clone()));
    }
    if let Some(found) = found {
        query = query.filter(users::id.eq_any(found.to_vec()));
    }
    if let Some(pattern) = &filter.pattern {
        let named = users::name.ilike(pattern.clone());
        query = query.filter(users::email_norm.like(pattern.to_lowercase()).or(named));
    }
    query = match filter.status {
        Some(UserStatus::Disabled) => query.filter(users::is_active.eq(false)),
        Some(UserStatus::Active) => query
            .filter(users::is_active)
            .filter(users::password_hash.is_not_null()),
        Some(UserStatus::Invited) => query.filter(users::is_active).filter(users::password_hash.is_null()),
        None => query,
    };
    let holds = |negation: &str, names: &[&str]| {
        let named = roles.iter().filter(|(.., name)| names.contains(&name.as_str()));
        let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = named.map(|(tenant, id, _)| (*tenant, *id)).unzip();
        sql::<Bool>(&format!("{negation}{HOLDS}"))
            .bind::<Array<SqlUuid>, _>(tenants)
            .sql(") and l.role_id = any(")
            .bind::<Array<SqlUuid>, _>(ids)
            .sql("))")
    };
    match filter.role {
        Some(RoleFilter::Shown(TeamRole::Dispatcher)) => query.filter(holds("", &ROLE_NAMES[..1])),
        Some(RoleFilter::Shown(TeamRole::Viewer)) => query
            .filter(holds("", &ROLE_NAMES[1..]))
            .filter(holds("not ", &ROLE_NAMES[..1])),
        Some(RoleFilter::None) => query.filter(holds("not ", &ROLE_NAMES)),
        None => query,
    }
}

/// Lets PostgreSQL find the disabled users of a caller with organization limits by their organizations, and sort them. It does not know how many of them
/// are disabled, and would otherwise look for a page among all users of the tenant, in the order of the list, although there may be none.
fn through_organizations<'a>(
    context: &RequestContext,
    filter: &UserFilter,
    query: users::BoxedQuery<'a, Pg>,
) -> users::BoxedQuery<'a, Pg> {
    let scope = context.scope();
    if filter.status != Some(UserStatus::Disabled) || scope.reads_organization(None) {
        return query;
    }
    let disabled = users_among::table
        .filter(scope.owns(users_among::tenant_id))
        .filter(users_among::deleted_at.is_null())
        .filter(scope.within(users_among::organization_id))
        .filter(users_among::is_active.eq(false))
        .select(users_among::id);
    query.filter(users::id.eq_any(array::<SqlUuid, _>(disabled)))
}

/// `min` prefers `dispatcher` to `viewer` because the names sort that way. A token is an invitation until it is voided or used.
const BESIDE: &str = "\
select u.id, ( \
        select min(r.name_norm) from auth_user_roles l \
        join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
        where l.tenant_id = u.tenant_id and l.user_id = u.id and r.name_norm = any($3)) as role, \
    k.sent_at, k.expires_at \
from unnest($1, $2) as u (tenant_id, id) left join lateral ( \
    select k.sent_at, k.expires_at from auth_one_time_tokens k \
    where k.tenant_id = u.tenant_id and k.user_id = u.id and k.purpose = 'invite' and k.used_at is null and k.voided_at is null \
    order by k.created_at desc, k.id desc limit 1) k on true";

#[derive(QueryableByName)]
struct BesideRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Nullable<Text>)]
    role: Option<String>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    sent_at: Option<Timestamp>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    expires_at: Option<Timestamp>,
}

async fn beside(mut connection: &AsyncPgConnection, users: &[TeamUser]) -> Result<HashMap<Uuid, BesideUser>> {
    if users.is_empty() {
        return Ok(HashMap::new());
    }
    let statement = sql_query(BESIDE)
        .bind::<Array<SqlUuid>, _>(users.iter().map(|user| user.tenant_id).collect::<Vec<_>>())
        .bind::<Array<SqlUuid>, _>(users.iter().map(|user| user.id).collect::<Vec<_>>())
        .bind::<Array<Text>, _>(ROLE_NAMES.to_vec());
    let rows: Vec<BesideRow> = Prepared(statement).load(&mut connection).await?;
    let known = rows.into_iter().map(|row| {
        let beside = BesideUser {
            role: row.role.as_deref().and_then(TeamRole::parse),
            invitation: row.expires_at.map(|expires_at| Invitation {
                sent_at: row.sent_at,
                expires_at,
            }),
        };
        (row.id, beside)
    });
    Ok(known.collect())
}
