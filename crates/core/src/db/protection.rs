//! What the migrations leave on every table, and an incomplete restore or a change by hand does not.

use tokio_postgres::Client;

use crate::error::Result;

/// Tables with rows of tenants; partitions count. `core_search_texts` has row-level security without a policy, and its owner's functions read it
/// (decision 34). A policy for other roles than this one, such as one for reports, is the operator's business.
const UNPROTECTED: &str = "\
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
      and (p.polname not in ('tenant_isolation', 'global_rows', 'event_queue', 'job_queue', 'platform_versions')
        or pg_get_expr(p.polqual, p.polrelid) = 'true')
      and exists (select from unnest(p.polroles) r where r = 0 or pg_has_role(r, 'member'))
    union all
    select 'no primary key' where not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'p')
    union all
    select 'no partitions' where c.relkind = 'p' and not exists (select from pg_inherits i where i.inhparent = c.oid)
) f
where c.relnamespace = to_regnamespace(current_schema()) and c.relkind in ('r', 'p')
  and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
order by 1";

/// Returns the tables of the schema that lack what separates the tenants: row-level security that is forced, the policy of the tenant and none that the
/// platform does not know, a primary key, and partitions. Each entry names a table and what it lacks. The list is empty for a schema that the
/// migrations created, and for an empty schema.
///
/// # Errors
/// When the database can't be reached.
pub async fn unprotected_tables(client: &Client) -> Result<Vec<String>> {
    let rows = client.query(UNPROTECTED, &[]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
