-- What breaks the rules of the schema: the table, and what to say about it. $1: tables that belong to no tenant. $2: columns beside
-- tenant_id that a foreign key may begin with. $3: tables that only the owner reads.
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
select name, 'needs a policy for all commands on tenant_id: call app_secure_table(''<table>'')'
from tables t
where t.name <> all ($3::text[]) and not exists (
    select from pg_policy
    where polrelid = t.oid and polcmd = '*' and pg_get_expr(polqual, polrelid) like '%tenant_id = %app_tenant_id()%')
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
order by 1, 2
