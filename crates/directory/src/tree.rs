//! The tree of organizations: the queries of core, and the checks of the guards.

use std::collections::HashMap;

use backoffice_core::Result;
use backoffice_core::command::Tx;
use backoffice_core::db::{Connection, Prepared, Recurring};
use backoffice_core::identity::OrganizationTree;
use diesel::dsl::exists;
use diesel::sql_types::{Array, BigInt, Bool, Integer, Nullable, Uuid as SqlUuid};
use diesel::{ExpressionMethods, OptionalExtension, QueryDsl, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use futures_util::future::BoxFuture;
use uuid::Uuid;

use crate::Error;
use crate::schema::{directory_organizations as organizations, directory_tenants as tenants};

#[derive(QueryableByName)]
struct Below {
    #[diesel(sql_type = SqlUuid)]
    root: Uuid,
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// Core's interface to the tree.
pub(crate) struct Tree;

#[derive(QueryableByName)]
struct ExpandedRow {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

/// `union` drops duplicates, so overlapping roots cost nothing.
macro_rules! expand {
    ($in_tenant:literal) => {
        concat!(
            "with recursive below as (
                select o.tenant_id, o.id
                from directory_organizations o
                join directory_tenants t on t.tenant_id = o.tenant_id and t.deleted_at is null
                where o.id = any($1) and o.deleted_at is null ",
            $in_tenant,
            " union
                select o.tenant_id, o.id
                from below
                join directory_organizations o
                    on o.tenant_id = below.tenant_id and o.parent_id = below.id and o.deleted_at is null
            )
            select id from below order by id"
        )
    };
}

const EXPAND_EACH: &str = "with recursive below as (
        select o.id as root, o.tenant_id, o.id
        from directory_organizations o
        join directory_tenants t on t.tenant_id = o.tenant_id and t.deleted_at is null
        where o.id = any($1) and o.deleted_at is null and ($2 is null or o.tenant_id = $2)
        union
        select below.root, o.tenant_id, o.id
        from below
        join directory_organizations o
            on o.tenant_id = below.tenant_id and o.parent_id = below.id and o.deleted_at is null
    )
    select root, id from below order by root, id";

impl OrganizationTree for Tree {
    fn expand<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<Vec<Uuid>>> {
        Box::pin(async move {
            let found: Vec<ExpandedRow> = match tenant {
                _ if roots.is_empty() => Vec::new(),
                Some(tenant) => {
                    sql_query(expand!("and o.tenant_id = $2"))
                        .bind::<Array<SqlUuid>, _>(roots)
                        .bind::<SqlUuid, _>(tenant)
                        .prepared()
                        .load(&mut **connection)
                        .await?
                }
                None => {
                    sql_query(expand!(""))
                        .bind::<Array<SqlUuid>, _>(roots)
                        .prepared()
                        .load(&mut **connection)
                        .await?
                }
            };
            Ok(found.into_iter().map(|row| row.id).collect())
        })
    }

    fn keep<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Uuid,
        organization: Uuid,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let found: Option<Uuid> = organizations::table
                .filter(organizations::tenant_id.eq(tenant))
                .filter(organizations::id.eq(organization))
                .filter(organizations::deleted_at.is_null())
                .select(organizations::id)
                .for_share()
                .first(&mut **connection)
                .await
                .optional()?;
            Ok(found.is_some())
        })
    }

    fn expand_each<'a>(
        &'a self,
        connection: &'a mut Connection,
        tenant: Option<Uuid>,
        roots: &'a [Uuid],
    ) -> BoxFuture<'a, Result<HashMap<Uuid, Vec<Uuid>>>> {
        Box::pin(async move {
            let mut below: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
            if roots.is_empty() {
                return Ok(below);
            }
            let statement = sql_query(EXPAND_EACH)
                .bind::<Array<SqlUuid>, _>(roots)
                .bind::<Nullable<SqlUuid>, _>(tenant);
            let found: Vec<Below> = Prepared(statement).load(&mut **connection).await?;
            for row in found {
                below.entry(row.root).or_default().push(row.id);
            }
            Ok(below)
        })
    }

    fn tenant_of<'a>(
        &'a self,
        connection: &'a mut Connection,
        organization: Uuid,
    ) -> BoxFuture<'a, Result<Option<Uuid>>> {
        Box::pin(async move {
            let live_tenant = tenants::table
                .filter(tenants::tenant_id.eq(organizations::tenant_id))
                .filter(tenants::deleted_at.is_null());
            let tenant = organizations::table
                .filter(organizations::id.eq(organization))
                .filter(organizations::deleted_at.is_null())
                .filter(organizations::is_active)
                .filter(exists(live_tenant))
                .select(organizations::tenant_id)
                .first(&mut **connection)
                .await
                .optional()?;
            Ok(tenant)
        })
    }

    fn tenant_is_live<'a>(&'a self, connection: &'a mut Connection, tenant: Uuid) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let found: Option<Uuid> = tenants::table
                .filter(tenants::tenant_id.eq(tenant))
                .filter(tenants::deleted_at.is_null())
                .select(tenants::id)
                .first(&mut **connection)
                .await
                .optional()?;
            Ok(found.is_some())
        })
    }
}

/// Serializes changes of a tenant's tree by locking the tenant's row: two moves that are valid alone can form a cycle together.
pub(crate) async fn lock(tx: &mut Tx<'_>) -> Result<()> {
    let tenant = tx.tenant();
    let found: Option<Uuid> = tenants::table
        .filter(tenants::tenant_id.eq(tenant))
        .filter(tenants::deleted_at.is_null())
        .select(tenants::id)
        .for_no_key_update()
        .first(tx.conn())
        .await
        .optional()?;
    if found.is_some() {
        Ok(())
    } else {
        Err(Error::TenantNotFound.into())
    }
}

/// Position of an organization in the tree, read after the change.
#[derive(Debug, QueryableByName)]
pub(crate) struct Position {
    /// Steps to the root.
    #[diesel(sql_type = Integer)]
    pub(crate) depth: i32,
    /// Steps to the deepest descendant.
    #[diesel(sql_type = Integer)]
    pub(crate) height: i32,
    /// Whether the organization is its own ancestor.
    #[diesel(sql_type = Bool)]
    pub(crate) circular: bool,
    /// Live organizations of the tenant.
    #[diesel(sql_type = BigInt)]
    pub(crate) organizations: i64,
    /// Whether the organization has live children.
    #[diesel(sql_type = Bool)]
    pub(crate) has_children: bool,
}

const POSITION: &str = "\
with recursive up as (
    select o.id, o.parent_id, 0 as distance
    from directory_organizations o
    where o.tenant_id = $1 and o.id = $2 and o.deleted_at is null
    union all
    select o.id, o.parent_id, up.distance + 1
    from up
    join directory_organizations o on o.tenant_id = $1 and o.id = up.parent_id and o.deleted_at is null
) cycle id set looped using trail,
down as (
    select o.id, 0 as distance
    from directory_organizations o
    where o.tenant_id = $1 and o.id = $2 and o.deleted_at is null
    union all
    select o.id, down.distance + 1
    from down
    join directory_organizations o on o.tenant_id = $1 and o.parent_id = down.id and o.deleted_at is null
) cycle id set looped using trail
select
    (select coalesce(max(distance), 0) from up) as depth,
    (select coalesce(max(distance), 0) from down) as height,
    (select coalesce(bool_or(looped), false) from up) as circular,
    (select count(*) from directory_organizations o where o.tenant_id = $1 and o.deleted_at is null) as organizations,
    exists (
        select from directory_organizations o
        where o.tenant_id = $1 and o.parent_id = $2 and o.deleted_at is null
    ) as has_children";

/// Returns the current position of the organization.
pub(crate) async fn position(tx: &mut Tx<'_>, id: Uuid) -> Result<Position> {
    let tenant = tx.tenant();
    Ok(sql_query(POSITION)
        .bind::<SqlUuid, _>(tenant)
        .bind::<SqlUuid, _>(id)
        .prepared()
        .get_result(tx.conn())
        .await?)
}
