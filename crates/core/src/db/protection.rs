//! Checks that every table with rows of tenants has the protection that the migrations create. After an incomplete restore or a change by hand,
//! it may lack it.

use tokio_postgres::Client;

use crate::error::Result;

/// Tables with rows of tenants; partitions count. `core_search_texts` has row-level security without a policy, and its owner's functions read it
/// (decision 34). A policy for other roles than this one, such as one for reports, is the operator's business. Conditions are compared without
/// spaces and parentheses, which depend on the version of PostgreSQL. The month after `_earlier` may be missing: months are dropped before `_earlier` is
/// extended to the next one.
const UNPROTECTED: &str = r"
with known (name, command, condition) as (values
    ('tenant_isolation', '*', 'tenant_id = SELECT app_tenant_id AS app_tenant_id OR SELECT app_is_system AS app_is_system'),
    ('global_rows', 'r', 'tenant_id = ''00000000-0000-0000-0000-000000000000''::uuid'),
    ('platform_versions', 'r', 'tenant_id = ''00000000-0000-0000-0000-000000000000''::uuid'),
    ('event_queue', '*', 'SELECT app_is_queue AS app_is_queue'),
    ('event_queue', 'r', 'SELECT app_is_queue AS app_is_queue'),
    ('job_queue', '*', 'SELECT app_is_queue AS app_is_queue')
), bounds as (
    select i.inhparent, replace(split_part(e.bound, ' TO ', 1), 'FOR VALUES FROM ', '') as low, split_part(e.bound, ' TO ', 2) as high
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid and c.relkind in ('r', 'p')
    cross join lateral pg_get_expr(c.relpartbound, c.oid) as e (bound)
)
select c.relname || ': ' || f.what
from pg_class c
cross join lateral (
    select 'no row-level security' as what where not c.relrowsecurity
    union all
    select 'row-level security is not forced' where not c.relforcerowsecurity and c.relname <> 'core_search_texts'
    union all
    select 'no policy tenant_isolation'
    where c.relname <> 'core_search_texts'
      and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'tenant_isolation')
    union all
    select 'unknown policy ' || p.polname from pg_policy p
    where p.polrelid = c.oid and p.polpermissive
      and (p.polwithcheck is not null or not exists (
        select from known k
        where k.name = p.polname and k.command = p.polcmd::text
            and replace(k.condition, ' ', '') = translate(pg_get_expr(p.polqual, p.polrelid), E' ()\n', '')))
      and exists (select from unnest(p.polroles) r where r = 0 or pg_has_role(r, 'member'))
    union all
    select 'no primary key' where not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')
    union all
    select 'no partitions' where c.relkind = 'p' and not exists (select from pg_inherits i where i.inhparent = c.oid)
    union all
    select 'a partition is missing'
    where c.relkind = 'p' and exists (select from pg_inherits i where i.inhparent = c.oid) and (
        not exists (select from bounds b where b.inhparent = c.oid and b.low = '(MINVALUE)')
        or exists (
            select from bounds b
            where b.inhparent = c.oid and b.low <> '(MINVALUE)' and b.high <> '(MAXVALUE)'
                and not exists (select from bounds n where n.inhparent = c.oid and n.low = b.high)))
) f
where c.relnamespace = to_regnamespace(current_schema()) and c.relkind in ('r', 'p')
  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
order by 1";

/// Returns the tables of the schema that lack what separates the tenants: row-level security that is forced, the policy of the tenant and none that the
/// platform does not know by its name and condition, a primary key, and partitions without gaps. Each entry names a table and what it lacks. The list is
/// empty for a schema that the migrations created, and for an empty schema.
///
/// # Errors
/// When the database can't be reached.
pub async fn unprotected_tables(client: &Client) -> Result<Vec<String>> {
    let rows = client.query(UNPROTECTED, &[]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
