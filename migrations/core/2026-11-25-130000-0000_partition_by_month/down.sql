-- Further tables are merged by the migrations of their modules.
do $$
declare
    kept record;
begin
    for kept in
        select case t.name when 'audit_action_logs' then 'audit_keep_actions' else 'audit_keep_accesses' end as name, t.kept as period
        from core_monthly_tables t where t.name in ('audit_action_logs', 'audit_access_logs')
    loop
        execute format('create function %I() returns interval language sql immutable parallel safe return interval %L', kept.name,
            kept.period);
    end loop;
end
$$;

drop procedure app_merge_months(text);
drop procedure app_partition_by_month(text);
drop procedure app_replace_table(text, boolean);
drop function app_drop_months(text, timestamptz);
drop function app_make_months(text, integer);
drop table core_monthly_tables;

create or replace function audit_lowest_id(instant timestamptz) returns uuid
language sql immutable parallel safe
return (lpad(to_hex((extract(epoch from instant) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid;

create function audit_make_partitions(months integer) returns integer
language plpgsql
security definer
set lock_timeout = '250ms'
as $$
declare
    ends date := (date_trunc('month', now() at time zone 'utc') + make_interval(months => months + 1))::date;
    month date;
    last date;
    newest uuid;
    made integer := 0;
    parent text;
    later text;
    name text;
    scope text := coalesce(current_setting('app.scope', true), '');
    -- What is made must be told where: the first schema of the path is the system's.
    home text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = 'audit_action_logs'::regclass);
begin
    -- Row-level security is forced, for the owner too. The caller's scope comes back at the end, or with the transaction.
    perform set_config('app.scope', 'system', true);
    if months < 0 or months > 24 then
        raise exception 'months must be between 0 and 24';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit_make_partitions'));
    foreach parent in array array['audit_action_logs', 'audit_access_logs'] loop
        later := parent || '_later';
        month := audit_partition_month(later::regclass);
        continue when month >= ends;
        execute format('alter table %I detach partition %I', parent, later);
        execute format('select id from %I order by id desc limit 1', later) into newest;
        if newest is null then
            execute format('alter table %I attach partition %I for values from (%L) to (maxvalue)', parent, later, audit_month_id(ends));
        else
            last := date_trunc('month', audit_id_time(newest) at time zone 'utc')::date;
            name := parent || '_' || to_char(last, 'YYYYMM');
            last := (last + interval '1 month')::date;
            execute format('alter table %I rename to %I', later, name);
            execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name,
                audit_month_id(month), audit_month_id(last));
            execute format('create table %s.%I partition of %I for values from (%L) to (maxvalue)', home, later, parent,
                audit_month_id(greatest(last, ends)));
            execute format('call app_secure_table(%L)', later);
            month := last;
            made := made + 1;
        end if;
        while month < ends loop
            name := parent || '_' || to_char(month, 'YYYYMM');
            execute format('create table %s.%I partition of %I for values from (%L) to (%L)', home, name, parent,
                audit_month_id(month), audit_month_id((month + interval '1 month')::date));
            execute format('call app_secure_table(%L)', name);
            month := (month + interval '1 month')::date;
            made := made + 1;
        end loop;
    end loop;
    perform set_config('app.scope', scope, true);
    return made;
end
$$;

create function audit_drop_partitions(actions_before timestamptz, accesses_before timestamptz, out gone integer, out complete boolean)
language plpgsql
security definer
set lock_timeout = '250ms'
as $$
declare
    wanted record;
    month record;
    oldest date;
    before integer;
    rows integer;
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    perform set_config('app.scope', 'system', true);
    gone := 0;
    complete := true;
    if greatest(actions_before, accesses_before) > now() - interval '1 day' then
        raise exception 'entries younger than a day are kept';
    end if;
    if actions_before is not null then
        actions_before := least(actions_before, now() - audit_keep_actions());
    end if;
    if accesses_before is not null then
        accesses_before := least(accesses_before, now() - audit_keep_accesses());
    end if;
    perform pg_advisory_xact_lock(hashtext('audit_drop_partitions'));
    for wanted in
        select * from (values ('audit_action_logs', actions_before), ('audit_access_logs', accesses_before)) as w (parent, ended)
        where ended is not null
    loop
        before := gone;
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
                -- The later ones wait too: months have no gaps.
                complete := false;
                exit;
            end;
        end loop;
        oldest := (select min(audit_partition_month(i.inhrelid)) from pg_inherits i where i.inhparent = wanted.parent::regclass);
        if gone > before then
            begin
                execute format('alter table %I detach partition %I', wanted.parent, wanted.parent || '_earlier');
                execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', wanted.parent,
                    wanted.parent || '_earlier', audit_month_id(oldest));
            exception when lock_not_available then
                complete := false;
            end;
        end if;
        execute format('delete from %1$I where (tenant_id, id) in (select tenant_id, id from %1$I where id < $1 limit 5000)',
            wanted.parent || '_earlier') using audit_lowest_id(wanted.ended);
        get diagnostics rows = row_count;
        gone := gone + rows;
        complete := complete and rows < 5000;
    end loop;
    perform set_config('app.scope', scope, true);
end
$$;

do $$
declare
    one record;
begin
    for one in
        select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = current_schema()::regnamespace and p.proname in ('audit_make_partitions', 'audit_drop_partitions')
    loop
        execute format('alter routine %s set search_path = pg_catalog, %I, pg_temp', one.name, current_schema());
        execute format('revoke execute on routine %s from public', one.name);
    end loop;
end
$$;
