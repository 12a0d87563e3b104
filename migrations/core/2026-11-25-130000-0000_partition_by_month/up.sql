-- Partitions by month for any table whose ids are UUIDv7. A table has a partition for each month, `<table>_<yyyymm>`, one for older ids,
-- `<table>_earlier`, and one for newer ids, `<table>_later`. So no insert fails for lack of a month, and no two partitions overlap.

-- The tables that are partitioned by month, and how long their rows are kept at least. Only the owner writes here: `migrate` stores the
-- configured retention. They belong to no tenant.
create table core_monthly_tables (
    name text primary key,
    kept interval not null,
    created_at timestamptz(3) not null,
    constraint core_monthly_tables_kept_check check (kept >= interval '1 day')
);
insert into core_monthly_tables (name, kept, created_at)
values ('audit_action_logs', audit_keep_actions(), now()), ('audit_access_logs', audit_keep_accesses(), now());

drop function audit_make_partitions(integer);
drop function audit_drop_partitions(timestamptz, timestamptz);
drop function audit_keep_actions();
drop function audit_keep_accesses();

-- As before, but the lowest id of all for instants before 1970, whose number was that of a distant future.
create or replace function audit_lowest_id(instant timestamptz) returns uuid
language sql immutable parallel safe
return (lpad(to_hex((greatest(extract(epoch from instant), 0) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid;

-- Creates the partitions of a table up to this month and some more, by moving the beginning of `_later`. Waits only a moment for locks, so it
-- holds no other session up; `complete` is false if a lock was not available, and the next run creates what is missing. Rows that came while
-- months were lacking stay together, in a partition with the name of the last month that it reaches into.
create function app_make_months(parent text, ahead integer, out made integer, out complete boolean)
language plpgsql
security definer
set lock_timeout = '250ms'
as $$
declare
    ends date := (date_trunc('month', now() at time zone 'utc') + make_interval(months => ahead + 1))::date;
    later text := parent || '_later';
    month date;
    last date;
    newest uuid;
    name text;
    -- What is created must be qualified: the first schema of the path is the system's.
    home text;
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    if not coalesce(ahead between 0 and 24, false) then
        raise exception 'the number of months must be between 0 and 24';
    end if;
    if not exists (select from core_monthly_tables t where t.name = parent) then
        raise exception '"%" is not partitioned by month', parent;
    end if;
    home := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = parent::regclass);
    made := 0;
    complete := true;
    -- Row-level security is forced, for the owner too. The caller's scope comes back at the end, or with the transaction.
    perform set_config('app.scope', 'system', true);
    begin
        perform pg_advisory_xact_lock(hashtext('app_make_months'));
        month := audit_partition_month(later::regclass);
        if month < ends then
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
        end if;
    exception when lock_not_available then
        made := 0;
        complete := false;
    end;
    perform set_config('app.scope', scope, true);
end
$$;

-- Drops the months of a table that ended before an instant, and up to 5000 rows as old of `_earlier`, which then reaches to the oldest month
-- that is left. Keeps what is younger than the stored retention. Returns how many months and rows were dropped, and whether all locks were
-- available.
create function app_drop_months(parent text, before timestamptz, out gone integer, out complete boolean)
language plpgsql
security definer
set lock_timeout = '250ms'
as $$
declare
    month record;
    oldest date;
    least_kept interval;
    rows integer;
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    if not coalesce(before <= now() - interval '1 day', false) then
        raise exception 'rows younger than a day are kept';
    end if;
    select t.kept into least_kept from core_monthly_tables t where t.name = parent;
    if not found then
        raise exception '"%" is not partitioned by month', parent;
    end if;
    before := least(before, now() - least_kept);
    perform set_config('app.scope', 'system', true);
    gone := 0;
    complete := true;
    perform pg_advisory_xact_lock(hashtext('app_drop_months'));
    for month in
        select c.relname::text as name
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = parent::regclass and c.relname::text ~ ('^' || parent || '_[0-9]{6}$')
            and (to_date(right(c.relname::text, 6), 'YYYYMM') + interval '1 month') at time zone 'utc' <= before
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
    if gone > 0 then
        oldest := (select min(audit_partition_month(i.inhrelid)) from pg_inherits i where i.inhparent = parent::regclass);
        begin
            execute format('alter table %I detach partition %I', parent, parent || '_earlier');
            execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', parent, parent || '_earlier',
                audit_month_id(oldest));
        exception when lock_not_available then
            complete := false;
        end;
    end if;
    execute format('delete from %1$I where (tenant_id, id) in (select tenant_id, id from %1$I where id < $1 limit 5000)',
        parent || '_earlier') using audit_lowest_id(before);
    get diagnostics rows = row_count;
    gone := gone + rows;
    complete := complete and rows < 5000;
    perform set_config('app.scope', scope, true);
end
$$;

-- Replaces a table by one of the same name, columns, keys, indexes, checks, rights and rows, partitioned by month or not. For migrations of the
-- owner, through the two procedures below. Policies other than that of app_secure_table, triggers, and foreign keys of other tables are not
-- kept: a table to which others refer is rejected.
create procedure app_replace_table(table_name text, by_month boolean)
language plpgsql
as $$
declare
    replaced text := table_name || '_replaced';
    this_month date := date_trunc('month', now() at time zone 'utc')::date;
    home text := (select c.relnamespace::regnamespace::text from pg_class c where c.oid = table_name::regclass);
    statements text[];
    statement text;
    columns text;
    oldest uuid;
    first date;
    side text;
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    -- Row-level security is forced, for the owner too.
    perform set_config('app.scope', 'system', true);
    -- What other tables refer to can't be dropped, so it is rejected below. Definitions name the table, which the new one will be.
    statements := array(
        select format('alter table %I add constraint %I %s', table_name, c.conname, pg_get_constraintdef(c.oid))
        from pg_constraint c where c.conrelid = table_name::regclass and c.contype in ('p', 'u', 'x', 'c', 'f')
        order by c.contype = 'p' desc, c.conname
    ) || array(
        select replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
        from pg_index i
        where i.indrelid = table_name::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
        order by 1
    ) || array(
        select format('grant %s on %I to %s', a.privilege_type, table_name, a.grantee::regrole)
        from pg_class c, aclexplode(c.relacl) a
        where c.oid = table_name::regclass and a.grantee not in (0, c.relowner)
        order by 1
    );
    columns := (
        select string_agg(quote_ident(a.attname), ', ' order by a.attnum)
        from pg_attribute a
        where a.attrelid = table_name::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '');
    execute format('alter table %I rename to %I', table_name, replaced);
    execute format('create table %1$s.%2$I (like %1$s.%3$I including defaults including generated including storage including comments) %4$s',
        home, table_name, replaced, case when by_month then 'partition by range (id)' end);
    execute format('call app_secure_table(%L)', table_name);
    if by_month then
        -- Months of two years at most: older rows, and those whose ids tell no time, stay together.
        execute format('select id from %I order by id limit 1', replaced) into oldest;
        first := coalesce(date_trunc('month', audit_id_time(oldest) at time zone 'utc')::date, this_month);
        first := least(greatest(first, (this_month - interval '24 months')::date), this_month);
        execute format('create table %s.%I partition of %I for values from (minvalue) to (%L)', home, table_name || '_earlier', table_name,
            audit_month_id(first));
        execute format('create table %s.%I partition of %I for values from (%L) to (maxvalue)', home, table_name || '_later', table_name,
            audit_month_id(first));
        foreach side in array array['_earlier', '_later'] loop
            execute format('call app_secure_table(%L)', table_name || side);
        end loop;
        perform app_make_months(table_name, 3);
    end if;
    execute format('insert into %1$I (%3$s) select %3$s from %2$I', table_name, replaced, columns);
    execute format('drop table %I', replaced);
    foreach statement in array statements loop
        execute statement;
    end loop;
    perform set_config('app.scope', scope, true);
end
$$;

-- Partitions a table of tenants by month. Its primary key is (tenant_id, id), and every other unique key has the id. The module declares the
-- table too (`Module::monthly_tables`).
create procedure app_partition_by_month(table_name text)
language plpgsql
as $$
begin
    insert into core_monthly_tables (name, kept, created_at) values (table_name, interval '1 day', now());
    call app_replace_table(table_name, true);
end
$$;

-- Reverses app_partition_by_month: the table is a plain one again, with all rows.
create procedure app_merge_months(table_name text)
language plpgsql
as $$
begin
    call app_replace_table(table_name, false);
    delete from core_monthly_tables t where t.name = table_name;
end
$$;

do $$
declare
    one record;
begin
    for one in
        select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = current_schema()::regnamespace and p.proname in ('app_make_months', 'app_drop_months', 'app_replace_table',
            'app_partition_by_month', 'app_merge_months')
    loop
        execute format('alter routine %s set search_path = pg_catalog, %I, pg_temp', one.name, current_schema());
        execute format('revoke execute on routine %s from public', one.name);
    end loop;
end
$$;
