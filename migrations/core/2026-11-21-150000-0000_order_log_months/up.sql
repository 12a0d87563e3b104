-- The months of the logs are ordered: what is older than the first of them lies in `_earlier`, what is newer than the last in `_later`, and
-- no partition overlaps with another one. So a list in the order of ids reads one month after the other, only as far as its page goes; a
-- default partition would have to be merged with all of them. Every id still has a partition.

-- The time of a UUIDv7.
create function audit_id_time(id uuid) returns timestamptz
language sql immutable parallel safe
return to_timestamp(('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 1000.0);

-- The lowest id of a month.
create function audit_month_id(month date) returns uuid
language sql immutable parallel safe
return audit_lowest_id(month::timestamp at time zone 'utc');

-- The month in which a partition begins; null for the first one, which has no beginning.
create function audit_partition_month(partition regclass) returns date
language sql stable
return (select (audit_id_time(substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM \(''([0-9a-f-]{36})''\)')::uuid) at time zone 'utc')::date
    from pg_class c where c.oid = partition);

do $$
declare
    parent text;
    months date[];
    month date;
    name text;
begin
    perform set_config('app.scope', 'system', true);
    foreach parent in array array['audit_action_logs', 'audit_access_logs'] loop
        execute format('alter table %I detach partition %I', parent, parent || '_default');
        select array_agg(audit_partition_month(i.inhrelid) order by 1) into months
        from pg_inherits i where i.inhparent = parent::regclass;
        if months is null then
            months := array[]::date[];
            month := date_trunc('month', now() at time zone 'utc')::date;
        else
            month := months[1];
        end if;
        execute format('create table %I partition of %I for values from (minvalue) to (%L)',
            parent || '_earlier', parent, audit_month_id(month));
        execute format('call app_secure_table(%L)', parent || '_earlier');
        -- A month that had entries in the default partition was not made.
        while month <= months[cardinality(months)] loop
            if month <> all (months) then
                name := parent || '_' || to_char(month, 'YYYYMM');
                execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent,
                    audit_month_id(month), audit_month_id((month + interval '1 month')::date));
                execute format('call app_secure_table(%L)', name);
            end if;
            month := (month + interval '1 month')::date;
        end loop;
        execute format('create table %I partition of %I for values from (%L) to (maxvalue)',
            parent || '_later', parent, audit_month_id(month));
        execute format('call app_secure_table(%L)', parent || '_later');
        execute format('insert into %I select * from %I', parent, parent || '_default');
        execute format('drop table %I', parent || '_default');
    end loop;
    perform set_config('app.scope', '', true);
end $$;

-- Makes the partitions of both logs up to this month and some more, by moving the beginning of `_later`. Waits for nobody longer than a
-- moment, so it holds nobody up; the next run makes what this one could not. Entries that came while months were lacking stay together, in
-- a partition with the name of the last month that it reaches into.
create or replace function audit_make_partitions(months integer) returns integer
language plpgsql
security definer
set search_path from current
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
            execute format('create table %I partition of %I for values from (%L) to (maxvalue)', later, parent,
                audit_month_id(greatest(last, ends)));
            execute format('call app_secure_table(%L)', later);
            month := last;
            made := made + 1;
        end if;
        while month < ends loop
            name := parent || '_' || to_char(month, 'YYYYMM');
            execute format('create table %I partition of %I for values from (%L) to (%L)', name, parent,
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

-- Drops the months of the logs that ended before an instant (null: none), and up to 5000 rows as old of `_earlier`, which then reaches to the
-- oldest month that is left. Returns how many months and rows went, and whether all could be had without waiting.
create or replace function audit_drop_partitions(actions_before timestamptz, accesses_before timestamptz, out gone integer, out complete boolean)
language plpgsql
security definer
set search_path from current
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
