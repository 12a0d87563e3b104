-- Who read what. Partitioned like the action log; the time of an id is the start of the window in which repeats are not recorded.
create table audit_access_logs (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    actor_kind text not null,
    actor_id uuid,
    actor_name text,
    resource_kind text not null,
    resource_id text not null,
    access_type text not null,
    fields text[] not null,
    context jsonb,
    request_id text,
    created_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint audit_access_logs_access_type_check
        check (access_type in ('read:list', 'read:item', 'download', 'export'))
) partition by range (id);
create table audit_access_logs_default partition of audit_access_logs default;

create index audit_access_logs_tenant_id_created_at_idx on audit_access_logs (tenant_id, created_at desc, id desc);
create index audit_access_logs_tenant_id_actor_id_idx on audit_access_logs (tenant_id, actor_id, created_at desc, id desc);
create index audit_access_logs_tenant_id_resource_idx
    on audit_access_logs (tenant_id, resource_kind, resource_id, created_at desc, id desc);

call app_secure_table('audit_access_logs');
call app_secure_table('audit_access_logs_default');

-- The time of an entry's id is its created_at. In the order of ids, which is that of the partitions, a list leaves the months alone
-- that it does not reach; the primary key serves the list without filters.
drop index audit_action_logs_tenant_id_organization_id_idx;
drop index audit_action_logs_tenant_id_actor_id_idx;
drop index audit_action_logs_tenant_id_resource_idx;
drop index audit_action_logs_tenant_id_parent_resource_idx;
create index audit_action_logs_tenant_id_organization_id_idx on audit_action_logs (tenant_id, organization_id, id desc);
create index audit_action_logs_tenant_id_actor_id_idx on audit_action_logs (tenant_id, actor_id, id desc);
create index audit_action_logs_tenant_id_resource_idx on audit_action_logs (tenant_id, resource_kind, resource_id, id desc);
create index audit_action_logs_tenant_id_parent_resource_idx
    on audit_action_logs (tenant_id, parent_resource_kind, parent_resource_id, id desc);

-- What else an entry is about, by resource. Row-level security lets no index on the array `related` be used, since containment of arrays
-- is not leakproof.
create table audit_action_links (
    tenant_id uuid not null,
    id uuid not null,
    resource_kind text not null,
    resource_id text not null,
    log_id uuid not null,
    primary key (tenant_id, id)
);
create index audit_action_links_tenant_id_resource_idx on audit_action_links (tenant_id, resource_kind, resource_id, log_id desc);
call app_secure_table('audit_action_links');
drop index audit_action_logs_related_idx;

select set_config('app.scope', 'system', true);
insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
select distinct tenant_id, (substr(l.id::text, 1, 14) || '7' || substr(md5(l.id::text || r)::uuid::text, 16))::uuid,
    split_part(r, ':', 1), substr(r, strpos(r, ':') + 1), l.id
from audit_action_logs l, unnest(l.related) as r;
select set_config('app.scope', '', true);

-- The lowest UUIDv7 of an instant.
create function audit_lowest_id(instant timestamptz) returns uuid
language sql immutable parallel safe
return (lpad(to_hex((extract(epoch from instant) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid;

-- Makes the partitions of both logs for this month and the next ones. Waits for nobody longer than a moment, so it holds nobody up; the
-- next run makes what this one could not.
create or replace function audit_make_partitions(months integer) returns integer
language plpgsql
security definer
set search_path from current
set lock_timeout = '250ms'
as $$
declare
    this_month date := date_trunc('month', now() at time zone 'utc')::date;
    month date;
    made integer := 0;
    lowest uuid;
    highest uuid;
    occupied boolean;
    parent text;
    name text;
begin
    if months < 0 or months > 24 then
        raise exception 'months must be between 0 and 24';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit_make_partitions'));
    foreach parent in array array['audit_action_logs', 'audit_access_logs'] loop
        for step in 0..months loop
            month := (this_month + make_interval(months => step))::date;
            name := parent || '_' || to_char(month, 'YYYYMM');
            continue when to_regclass(name) is not null;
            lowest := audit_lowest_id(month::timestamp at time zone 'utc');
            highest := audit_lowest_id((month + interval '1 month') at time zone 'utc');
            execute format('select exists (select 1 from %I where id >= $1 and id < $2)', parent || '_default')
                into occupied using lowest, highest;
            continue when occupied;
            execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent, lowest, highest);
            execute format('call app_secure_table(%L)', name);
            made := made + 1;
        end loop;
    end loop;
    return made;
end
$$;

-- Drops the months of the logs that ended before an instant (null: none), and up to 5000 rows as old that lie in no month. Returns how
-- many months and rows went, and whether all could be had without waiting.
create function audit_drop_partitions(actions_before timestamptz, accesses_before timestamptz, out gone integer, out complete boolean)
language plpgsql
security definer
set search_path from current
set lock_timeout = '250ms'
as $$
declare
    wanted record;
    month record;
    rows integer;
begin
    gone := 0;
    complete := true;
    if greatest(actions_before, accesses_before) > now() - interval '1 day' then
        raise exception 'entries younger than a day are kept';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit_drop_partitions'));
    for wanted in
        select * from (values ('audit_action_logs', actions_before), ('audit_access_logs', accesses_before)) as w (parent, ended)
        where ended is not null
    loop
        for month in
            select c.relname::text as name
            from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = wanted.parent::regclass and c.relname::text ~ ('^' || wanted.parent || '_[0-9]{6}$')
                and (to_date(right(c.relname::text, 6), 'YYYYMM') + interval '1 month') at time zone 'utc' <= wanted.ended
            order by 1
        loop
            begin
                execute format('drop table %I', month.name);
                gone := gone + 1;
            exception when lock_not_available then
                complete := false;
            end;
        end loop;
        execute format('delete from %1$I where (tenant_id, id) in (select tenant_id, id from %1$I where id < $1 limit 5000)',
            wanted.parent || '_default') using audit_lowest_id(wanted.ended);
        get diagnostics rows = row_count;
        gone := gone + rows;
        complete := complete and rows < 5000;
    end loop;
end
$$;
revoke execute on function audit_drop_partitions(timestamptz, timestamptz) from public;
