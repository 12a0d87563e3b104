//! Users of a tenant, for modules whose records belong to users.

use std::collections::HashSet;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::Prepared;
use diesel::sql_types::{Array, Bool, Jsonb, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde_json::Value;
use uuid::Uuid;

use super::query;
use crate::sessions;

/// A live user of the transaction's tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantUser {
    /// The id.
    pub id: Uuid,
    /// The name, else the e-mail address.
    pub name: String,
    /// Whether the user may sign in.
    pub is_active: bool,
    /// Whether the user is visible to the caller.
    pub is_visible: bool,
    /// The organizations in which the user holds any feature, without their descendants; `None` = the whole tenant.
    pub organizations: Option<Vec<Uuid>>,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Bool)]
    is_active: bool,
    #[diesel(sql_type = Nullable<Jsonb>)]
    own: Option<Value>,
    #[diesel(sql_type = Jsonb)]
    roles: Value,
}

const FIELDS: &str = "select u.id, coalesce(u.name, u.email) as name, u.is_active, \
    (select jsonb_build_object('isSuperAdmin', a.is_super_admin, 'features', a.features, 'organizations', a.organizations) \
     from auth_user_acls a where a.tenant_id = u.tenant_id and a.user_id = u.id) as own, \
    coalesce((select jsonb_agg(jsonb_build_object('isSuperAdmin', a.is_super_admin, 'features', a.features, \
        'organizations', a.organizations)) \
     from auth_user_roles l \
     join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id \
     where l.tenant_id = u.tenant_id and l.user_id = u.id), '[]') as roles \
    from auth_users u where u.tenant_id = $1 and u.id = any(array(select unnest($2::uuid[]))) and u.deleted_at is null order by u.id";

/// Returns the live users with these ids in the transaction's tenant, by id: two statements, whatever their number.
///
/// # Errors
/// If the database can't be reached.
pub async fn find_tenant_users(tx: &mut Tx<'_>, ids: &[Uuid]) -> Result<Vec<TenantUser>> {
    let (context, tenant) = (tx.context(), tx.tenant());
    let statement = sql_query(FIELDS)
        .bind::<SqlUuid, _>(tenant)
        .bind::<Array<SqlUuid>, _>(ids);
    let rows: Vec<Row> = Prepared(statement).load(tx.conn()).await?;
    let seen: HashSet<Uuid> = query::seen(tx.shared(), context, ids).await?.into_iter().collect();
    let catalogue = context.platform().catalogue();
    rows.into_iter()
        .map(|row| {
            let rights = sessions::query::rights_of(row.own, row.roles)?;
            Ok(TenantUser {
                id: row.id,
                name: row.name,
                is_active: row.is_active,
                is_visible: seen.contains(&row.id),
                organizations: rights.anywhere(catalogue).map(|listed| listed.into_iter().collect()),
            })
        })
        .collect()
}
