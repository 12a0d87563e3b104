//! The list of keys for administrators.

use backoffice_core::command::LockedRow;
use backoffice_core::db::{KeyColumn, Prepared};
use backoffice_core::list::{Page, Window};
use backoffice_core::scope::{Owned, VisibleTenants, Within};
use backoffice_core::{RequestContext, Result, Scope, Timestamp};
use diesel::dsl::{Filter, IsNull, count_star, sql};
use diesel::pg::Pg;
use diesel::sql_types::{Jsonb, Nullable, Text, Uuid as SqlUuid};
use diesel::{
    BoolExpressionMethods, ExpressionMethods, PgTextExpressionMethods, QueryDsl, QueryResult, Queryable,
    QueryableByName, sql_query,
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::schema::api_keys_keys as keys;

/// A role of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleOfKey {
    /// The id.
    pub id: Uuid,
    /// The name.
    pub name: Option<String>,
}

/// A key of the list.
#[derive(Debug, Clone, Queryable)]
pub struct KeySummary {
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
    /// Kind of the creator.
    pub created_by_kind: String,
    /// Id of the creator.
    pub created_by_id: Option<Uuid>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Name of the organization.
    pub organization_name: Option<String>,
    roles: Value,
}

impl KeySummary {
    /// Returns the roles, by name.
    ///
    /// # Errors
    /// If the database returned another shape.
    pub fn roles(&self) -> Result<Vec<RoleOfKey>> {
        Ok(serde_json::from_value(self.roles.clone())?)
    }
}

/// Live keys of the visible tenants, in the visible organizations.
pub(crate) type InScope = Filter<
    Filter<Filter<keys::table, Owned<keys::tenant_id>>, Within<keys::organization_id>>,
    IsNull<keys::deleted_at>,
>;

/// Returns the live keys visible to `scope`; every scoped statement on keys starts here. A key without organization is visible to callers of
/// the whole tenant.
pub(crate) fn in_scope(scope: &Scope) -> InScope {
    keys::table
        .filter(scope.owns(keys::tenant_id))
        .filter(scope.within(keys::organization_id))
        .filter(keys::deleted_at.is_null())
}

/// Locks the keys visible to the caller, by ascending id. If a tenant is selected, only its keys, also for super administrators.
pub(crate) async fn lock(connection: &AsyncPgConnection, scope: &Scope, ids: &[Uuid]) -> Result<Vec<LockedRow>> {
    let mut own = scope.clone();
    if let Some(tenant) = scope.tenant {
        own.visible_tenants = VisibleTenants::Tenant(tenant);
    }
    Ok(in_scope(&own)
        .filter(keys::id.one_of(ids))
        .order(keys::id)
        .select((keys::id, keys::tenant_id))
        .for_update()
        .load(&mut &*connection)
        .await?)
}

/// Goes from each key to the keys that it created, by the index of creators: row-level security lets no index on the array of ancestors be used, since
/// containment of arrays is not leakproof. Deleted keys are passed. Keys below a purged one are not found: they have not been usable since it was deleted.
const CREATED_WITH: &str = "\
with recursive below (id, is_live) as (
    select k.id, k.deleted_at is null from api_keys_keys k
    where k.tenant_id = $1 and k.created_by_kind = 'api_key' and k.created_by_id = $2
    union
    select k.id, k.deleted_at is null from below b
    join api_keys_keys k on k.tenant_id = $1 and k.created_by_kind = 'api_key' and k.created_by_id = b.id
)
select id from below where is_live";

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Returns the live keys that this key created, and those that they created, at any distance.
pub(crate) async fn created_with(mut connection: &AsyncPgConnection, tenant: Uuid, id: Uuid) -> Result<Vec<Uuid>> {
    let statement = sql_query(CREATED_WITH)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(id);
    let found: Vec<Found> = Prepared(statement).load(&mut connection).await?;
    Ok(found.into_iter().map(|key| key.id).collect())
}

/// Filter of the list of keys.
#[derive(Debug, Clone, Default)]
pub struct KeyFilter {
    /// Only these ids; an empty list matches nothing.
    pub ids: Option<Vec<Uuid>>,
    /// Pattern for name and prefix.
    pub pattern: Option<String>,
}

/// Returns a page of the keys of a tenant, newest first, and their total, with two pipelined statements.
///
/// # Errors
/// If the database can't be reached.
pub async fn list(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    tenant: Uuid,
    filter: &KeyFilter,
    window: Window,
) -> Result<Page<KeySummary>> {
    let scope = ctx.scope();
    let total = filtered(scope, tenant, filter).select(count_star());
    let page = rows(connection, scope, tenant, filter, window);
    let total = || Prepared(total).get_result::<i64>(&mut &*connection);
    window.fetch(ctx, connection, page, total).await
}

/// Returns the rows of a page: one statement.
async fn rows(
    mut connection: &AsyncPgConnection,
    scope: &Scope,
    tenant: Uuid,
    filter: &KeyFilter,
    window: Window,
) -> QueryResult<Vec<KeySummary>> {
    let newest_first = || (keys::created_at.desc(), keys::id.asc());
    let shown = (
        keys::tenant_id,
        keys::id,
        keys::name,
        keys::description,
        keys::organization_id,
        keys::key_prefix,
        keys::expires_at,
        keys::last_used_at,
        keys::created_by_kind,
        keys::created_by_id,
        keys::created_at,
        keys::updated_at,
        sql::<Nullable<Text>>(
            "(select o.name from directory_organizations o \
              where o.tenant_id = api_keys_keys.tenant_id and o.id = api_keys_keys.organization_id)",
        ),
        sql::<Jsonb>(
            "coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name) order by r.name_norm, r.id) \
              from api_keys_key_roles l join auth_roles r on r.tenant_id = l.role_tenant_id and r.id = l.role_id \
              where l.tenant_id = api_keys_keys.tenant_id and l.key_id = api_keys_keys.id), '[]')",
        ),
    );
    let list = filtered(scope, tenant, filter).order(newest_first());
    if window.page == 1 {
        return window.limited(list.select(shown)).load(&mut connection).await;
    }
    // The ids first: PostgreSQL would look up the names and roles beside the skipped keys too.
    let page = list.select(keys::id).limit(window.limit()).offset(window.offset());
    let shown_keys = of_tenant(scope, tenant)
        .filter(keys::id.eq_any(page))
        .order(newest_first());
    Prepared(shown_keys.select(shown)).load(&mut connection).await
}

/// Returns the live keys of a tenant that are visible to `scope`.
fn of_tenant<'a>(scope: &Scope, tenant: Uuid) -> keys::BoxedQuery<'a, Pg> {
    let query = in_scope(scope).into_boxed();
    match scope.visible_tenants {
        VisibleTenants::Tenant(own) if own == tenant => query,
        _ => query.filter(keys::tenant_id.eq(tenant)),
    }
}

fn filtered<'a>(scope: &Scope, tenant: Uuid, filter: &KeyFilter) -> keys::BoxedQuery<'a, Pg> {
    let mut query = of_tenant(scope, tenant);
    if let Some(ids) = &filter.ids {
        query = query.filter(keys::id.one_of(ids.clone()));
    }
    if let Some(pattern) = &filter.pattern {
        query = query.filter(
            keys::name
                .ilike(pattern.clone())
                .or(keys::key_prefix.ilike(pattern.clone())),
        );
    }
    query
}
