//! Facts that the list adds to the rows of organizations: depth, path, number of children.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backoffice_core::db::Recurring;
use backoffice_core::list::Beside;
use backoffice_core::{RequestContext, Result, Scope};
use diesel::sql_types::{Array, BigInt, Integer, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::{AsyncPgConnection, RunQueryDsl};
use uuid::Uuid;

use super::Organization;

/// Facts about one organization, in the part of the tree that the caller sees.
#[derive(Debug, QueryableByName)]
pub(crate) struct Facts {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
    /// Steps to the topmost visible ancestor.
    #[diesel(sql_type = Integer)]
    pub(super) depth: i32,
    /// Names from that ancestor down, joined by ` / `.
    #[diesel(sql_type = Text)]
    pub(super) path_label: String,
    /// Number of live direct children.
    #[diesel(sql_type = BigInt)]
    pub(super) children_count: i64,
}

const FACTS: &str = "\
with recursive up as (
    select o.tenant_id, o.id as leaf, o.parent_id, o.name, 0 as distance
    from unnest($1, $2) as requested (tenant_id, id)
    join directory_organizations o on o.tenant_id = requested.tenant_id and o.id = requested.id
    union all
    select o.tenant_id, up.leaf, o.parent_id, o.name, up.distance + 1
    from up
    join directory_organizations o on o.tenant_id = up.tenant_id and o.id = up.parent_id
    where o.deleted_at is null and ($3 is null or o.id = any($3))
)
select
    up.leaf as id,
    max(up.distance) as depth,
    string_agg(up.name, ' / ' order by up.distance desc) as path_label,
    (
        select count(*) from directory_organizations c
        where c.tenant_id = up.tenant_id and c.parent_id = up.leaf and c.deleted_at is null
    ) as children_count
from up
group by up.tenant_id, up.leaf";

/// Most organizations of which facts are kept in memory.
const MOST_KEPT: u64 = 10_000;

/// The facts for callers who see all organizations of a tenant.
#[derive(Debug)]
pub(crate) struct KnownFacts(Beside<Arc<Facts>>);

impl KnownFacts {
    pub(crate) fn new() -> Self {
        Self(Beside::new(MOST_KEPT))
    }
}

/// Returns the facts about the rows of a page. Those for callers who see some organizations only are not kept: each of them may see another part of
/// the tree.
pub(super) async fn of_page(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    rows: &[Organization],
) -> Result<HashMap<Uuid, Arc<Facts>>> {
    let scope = ctx.scope();
    if scope.organizations.is_some() {
        return load(connection, scope, rows.iter()).await;
    }
    let known = ctx.call().provided::<KnownFacts>()?;
    let load = async |missing: HashSet<Uuid>| {
        let missing = rows.iter().filter(|row| missing.contains(&row.id));
        load(connection, scope, missing).await
    };
    ctx.beside(&known.0, rows.iter().map(|row| row.id), load).await
}

/// Loads the facts about `rows`, which are visible to the scope, with one statement.
pub(super) async fn load(
    mut connection: &AsyncPgConnection,
    scope: &Scope,
    rows: impl Iterator<Item = &Organization>,
) -> Result<HashMap<Uuid, Arc<Facts>>> {
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = rows.map(|row| (row.tenant_id, row.id)).unzip();
    let facts: Vec<Facts> = sql_query(FACTS)
        .bind::<Array<SqlUuid>, _>(tenants)
        .bind::<Array<SqlUuid>, _>(ids)
        .bind::<Nullable<Array<SqlUuid>>, _>(&scope.organizations)
        .prepared()
        .load(&mut connection)
        .await?;
    Ok(facts.into_iter().map(|facts| (facts.id, Arc::new(facts))).collect())
}
