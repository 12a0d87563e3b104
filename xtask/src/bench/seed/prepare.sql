-- What the bench adds to the schema: ids as the server creates them, and the rows of the machine's limits.
create schema bench;
grant usage on schema bench to {application}, {bypassing};

create function bench.new_id() returns uuid
language sql volatile
return (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
    || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid;

create table bench.rows (id uuid primary key, payload text not null);
insert into bench.rows values ('b0000000-0000-7000-8000-000000000000', repeat('x', 200));
create table bench.counters (id integer primary key, last bigint not null);
insert into bench.counters values (1, 0);
grant select, insert, update on bench.rows, bench.counters to {application};

-- The action log of the last two years, by month, as it is in a database that has been in use for that long.
set role {owner};
do $$
declare
    first date := (date_trunc('month', now() at time zone 'utc') - interval '24 months')::date;
    month date := first;
    parent text;
begin
    foreach parent in array array['audit_action_logs', 'audit_access_logs'] loop
        execute format('alter table %I detach partition %I', parent, parent || '_earlier');
        month := first;
        while month < date_trunc('month', now() at time zone 'utc')::date loop
            execute format('create table %I partition of %I for values from (%L) to (%L)', parent || '_' || to_char(month, 'YYYYMM'),
                parent, audit_month_id(month), audit_month_id((month + interval '1 month')::date));
            execute format('call app_secure_table(%L)', parent || '_' || to_char(month, 'YYYYMM'));
            month := (month + interval '1 month')::date;
        end loop;
        execute format('alter table %I attach partition %I for values from (minvalue) to (%L)', parent, parent || '_earlier',
            audit_month_id(first));
    end loop;
end $$;
reset role;
