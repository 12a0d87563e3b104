//! Facts that the list adds to the rows of organizations: depth, path, number of children.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backoffice_core::collections::Versioned;
use backoffice_core::db::Recurring;
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

/// Identifies the facts about an organization for callers who see all organizations of their tenants: the visible tenant (`None` = all), the caller's
/// tenant, whose versions count too, and the organization.
type FactsKey = (Option<Uuid>, Uuid, Uuid);

/// The facts that are known at the present version of the organizations.
#[derive(Debug)]
pub(crate) struct KnownFacts(Versioned<FactsKey, Arc<Facts>>);

impl KnownFacts {
    pub(crate) fn new() -> Self {
        Self(Versioned::new(MOST_KEPT))
    }
}

/// Returns the facts about the rows of a page: from memory, as far as they were read at the version that the response shows, the rest with one
/// statement. Facts for callers who see some organizations only are not kept: each of them may see another part of the tree.
pub(super) async fn of_page(
    connection: &AsyncPgConnection,
    ctx: &RequestContext,
    rows: &[Organization],
) -> Result<HashMap<Uuid, Arc<Facts>>> {
    let (scope, own) = (ctx.scope(), ctx.identity().tenant);
    if scope.organizations.is_some() {
        return load(connection, scope, rows.iter()).await;
    }
    let (known, version) = (ctx.call().provided::<KnownFacts>()?, ctx.shown_version());
    let key = |id: Uuid| (scope.visible_tenants.one(), own, id);
    let mut beside = known.0.find_all(rows.iter().map(|row| key(row.id)), version);
    if !beside.missing.is_empty() {
        let missing: HashSet<Uuid> = beside.missing.iter().map(|(.., id)| *id).collect();
        let missing = rows.iter().filter(|row| missing.contains(&row.id));
        let found = load(connection, scope, missing).await?;
        let found = found.into_iter().map(|(id, facts)| (key(id), facts));
        known.0.add(&mut beside, version, found);
    }
    let facts = rows
        .iter()
        .filter_map(|row| Some((row.id, beside.of(&key(row.id))?.clone())));
    Ok(facts.collect())
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
