-- What breaks the rules of the schema: the table, and what to say about it. $1: tables that belong to no tenant. $2: columns beside
-- tenant_id that a foreign key may begin with. $3: tables that only the owner reads. $4: policies beside that of the tenant.
with tables as (
    select oid, relname::text as name, relispartition, relrowsecurity and relforcerowsecurity as secured
    from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname <> all ($1::text[])
), indexes as (
    select t.name, t.relispartition, i.indexrelid::regclass::text as index, i.indisunique, i.indisprimary, array(
        select coalesce(a.attname::text, '(expression)')
        from unnest(i.indkey::int2[]) with ordinality as k (number, place)
        left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
        order by k.place) as columns
    from pg_index i join tables t on t.oid = i.indrelid
), foreign_keys as (
    select t.name, c.conname,
        (select attname::text from pg_attribute where attrelid = c.conrelid and attnum = c.conkey[1]) as first_column,
        (select attname::text from pg_attribute where attrelid = c.confrelid and attnum = c.confkey[1]) as first_target
    from pg_constraint c join tables t on t.oid = c.conrelid
    where c.contype = 'f' and c.conparentid = 0
), policies as (
    -- Without parentheses, whose number depends on the version of PostgreSQL.
    select p.polrelid, c.relname::text as name, c.relname || '.' || p.polname
        || case when p.polpermissive then '' else ' restrictive' end
        || ' for ' || case p.polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end
        || case when p.polroles = '{0}' then '' else ' to ' || p.polroles::regrole[]::text end
        || coalesce(' using ' || btrim(regexp_replace(pg_get_expr(p.polqual, p.polrelid), '[\s()]+', ' ', 'g')), '')
        || coalesce(' with check ' || btrim(regexp_replace(pg_get_expr(p.polwithcheck, p.polrelid), '[\s()]+', ' ', 'g')), '')
        as definition
    from pg_policy p join pg_class c on c.oid = p.polrelid
), expected as (
    select oid, name, name || '.tenant_isolation for all using tenant_id = SELECT app_tenant_id AS app_tenant_id '
        || 'OR SELECT app_is_system AS app_is_system' as definition
    from tables
    where name <> all ($3::text[])
)
select name, 'needs a column "tenant_id uuid not null"' as fact
from tables t
where not exists (
    select from pg_attribute
    where attrelid = t.oid and attname = 'tenant_id' and atttypid = 'uuid'::regtype and attnotnull)
union all
select name, 'needs the primary key (tenant_id, id)'
from tables t
where t.name <> all ($3::text[])
    and not exists (select from indexes i where i.name = t.name and i.indisprimary and i.columns = '{tenant_id,id}')
union all
select name, format('unique index %s must begin with tenant_id', index)
from indexes where indisunique and columns[1] <> 'tenant_id'
union all
select name, format('foreign key %s must begin with the tenant on both sides', conname)
from foreign_keys where first_target <> 'tenant_id' or first_column <> all (array['tenant_id'] || $2::text[])
union all
select name, 'needs row-level security, enabled and forced: call app_secure_table(''<table>'')'
from tables where not secured and name <> all ($3::text[])
union all
select name, 'needs the policy of the tenant: call app_secure_table(''<table>'')'
from expected e
where not exists (select from policies p where p.polrelid = e.oid and p.definition = e.definition)
union all
select name, format('has a policy that is not listed with its reason in catalogue.rs: %s', definition)
from policies p
where p.definition <> all ($4::text[])
    and not exists (select from expected e where e.oid = p.polrelid and e.definition = p.definition)
union all
select name, format('constraint %s must begin with the name of its table', conname)
from pg_constraint join tables t on t.oid = conrelid where not relispartition and not starts_with(conname::text, name || '_')
union all
select name, format('index %s must begin with the name of its table', index)
from indexes where not relispartition and not starts_with(index, name || '_')
union all
select name, 'needs row-level security, enabled and without any policy'
from tables t
where name = any ($3::text[])
    and (not (select relrowsecurity from pg_class where oid = t.oid) or exists (select from pg_policy where polrelid = t.oid))
union all
select relname::text, 'is a view that row-level security does not reach: create it with (security_invoker = true)'
from pg_class
where relnamespace = 'public'::regnamespace and relkind = 'v'
    and not coalesce(reloptions && '{security_invoker=true,security_invoker=on}'::text[], false)
union all
select relname::text, 'keeps rows that row-level security does not reach: create a table'
from pg_class
where relnamespace = 'public'::regnamespace and relkind in ('m', 'f')
union all
select relname::text, format('is in the schema %s: the rules and the rights of the application are those of the schema public', n.nspname)
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('public', 'information_schema') and n.nspname not like 'pg\_%'
order by 1, 2
