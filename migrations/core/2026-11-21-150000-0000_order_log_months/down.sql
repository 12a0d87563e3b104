do $$
declare
    parent text;
    side text;
begin
    perform set_config('app.scope', 'system', true);
    foreach parent in array array['audit_action_logs', 'audit_access_logs'] loop
        foreach side in array array['_earlier', '_later'] loop
            execute format('alter table %I detach partition %I', parent, parent || side);
        end loop;
        execute format('create table %I partition of %I default', parent || '_default', parent);
        execute format('call app_secure_table(%L)', parent || '_default');
        foreach side in array array['_earlier', '_later'] loop
            execute format('insert into %I select * from %I', parent, parent || side);
            execute format('drop table %I', parent || side);
        end loop;
    end loop;
    perform set_config('app.scope', '', true);
end $$;

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
create or replace function audit_drop_partitions(actions_before timestamptz, accesses_before timestamptz, out gone integer, out complete boolean)
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

drop function audit_partition_month(regclass);
drop function audit_month_id(date);
drop function audit_id_time(uuid);
