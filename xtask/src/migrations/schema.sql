-- Everything that a migration can create in the schema `public`, and all comments, one line each. Column numbers and object ids, which a repeated
-- migration changes, are left out.
with tables as (
    select c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.reloptions, c.relacl, c.relispartition
    from pg_class c
    where c.relnamespace = 'public'::regnamespace
)
select format('%s %s: kind %s, persistence %s, row security %s, forced %s, options %s, grants %s', 'table', relname, relkind,
    relpersistence, relrowsecurity, relforcerowsecurity, coalesce(reloptions::text, '-'), coalesce(relacl::text, '-')) as line
from tables where relkind in ('r', 'p', 'v', 'm', 'S')
union all
select format('column %s.%s: %s%s default %s, collation %s, generated "%s", identity "%s", storage %s, options %s, grants %s', t.relname,
    a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then ' not null' else '' end,
    coalesce(pg_get_expr(d.adbin, d.adrelid), '-'), a.attcollation::regcollation, a.attgenerated, a.attidentity, a.attstorage,
    coalesce(a.attoptions::text, '-'), coalesce(a.attacl::text, '-'))
from pg_attribute a join tables t on t.oid = a.attrelid left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
where t.relkind in ('r', 'p', 'v', 'm') and a.attnum > 0 and not a.attisdropped
union all
select format('constraint %s.%s: %s', t.relname, c.conname, pg_get_constraintdef(c.oid))
from pg_constraint c join tables t on t.oid = c.conrelid
union all
select format('index %s', pg_get_indexdef(i.indexrelid)) from pg_index i join tables t on t.oid = i.indrelid
union all
select format('policy %s.%s: %s for "%s" to %s using %s with check %s', t.relname, p.polname, p.polpermissive, p.polcmd, p.polroles::regrole[],
    coalesce(pg_get_expr(p.polqual, p.polrelid), '-'), coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '-'))
from pg_policy p join tables t on t.oid = p.polrelid
union all
select format('trigger %s.%s: %s, enabled %s', t.relname, g.tgname, pg_get_triggerdef(g.oid), g.tgenabled)
from pg_trigger g join tables t on t.oid = g.tgrelid where not g.tgisinternal
union all
select format('sequence %s: %s, start %s, increment %s, from %s to %s, cache %s, cycle %s, of %s', t.relname, format_type(s.seqtypid, null),
    s.seqstart, s.seqincrement, s.seqmin, s.seqmax, s.seqcache, s.seqcycle, coalesce((
        select pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) from pg_depend d
        where d.classid = 'pg_class'::regclass and d.objid = s.seqrelid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')), '-'))
from pg_sequence s join tables t on t.oid = s.seqrelid
union all
select format('statistics %s, target %s', pg_get_statisticsobjdef(s.oid), coalesce(s.stxstattarget, -1))
from pg_statistic_ext s
where s.stxnamespace = 'public'::regnamespace
union all
-- Smaller ids belong to objects of PostgreSQL itself.
select format('comment on %s: %s', pg_describe_object(c.classoid, c.objoid, c.objsubid), c.description)
from pg_description c
where c.objoid >= 16384
union all
select format('partition %s of %s: %s', t.relname, h.inhparent::regclass, pg_get_expr(c.relpartbound, c.oid))
from pg_inherits h join tables t on t.oid = h.inhrelid join pg_class c on c.oid = t.oid where t.relkind in ('r', 'p')
union all
select format('view %s: %s', relname, pg_get_viewdef(oid)) from tables where relkind in ('v', 'm')
union all
select format('function %s: %s, grants %s', p.oid::regprocedure, md5(pg_get_functiondef(p.oid)), coalesce(p.proacl::text, '-'))
from pg_proc p
where p.pronamespace = 'public'::regnamespace and p.prokind in ('f', 'p')
union all
select format('type %s: %s', t.typname, (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
from pg_type t
where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd')
