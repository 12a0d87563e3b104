-- As before the migration.
create or replace function app_make_months(parent text, ahead integer, out made integer, out complete boolean)
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

do $$
begin
    execute format('alter function app_make_months set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
