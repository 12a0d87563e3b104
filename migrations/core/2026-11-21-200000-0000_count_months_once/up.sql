-- How many entries the months have that are over: they do not change any more, so the total of a long log need not read all of it.

-- The partitions that were counted, as ranges of ids without gaps. They belong to no tenant.
create table audit_counted_partitions (
    name text primary key,
    begins uuid not null,
    ends uuid not null,
    created_at timestamptz(3) not null
);

create table audit_entry_counts (
    tenant_id uuid not null,
    id uuid not null,
    partition_name text not null,
    organization_id uuid,
    entries bigint not null,
    created_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint audit_entry_counts_entries_check check (entries > 0),
    constraint audit_entry_counts_tenant_id_organization_id_partition_name_key
        unique nulls not distinct (tenant_id, organization_id, partition_name)
);
call app_secure_table('audit_entry_counts');

-- Forgets the counts of partitions that were dropped. Belongs into the transaction that drops them.
create function audit_forget_counts() returns void
language plpgsql
security definer
set search_path from current
as $$
declare
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    perform set_config('app.scope', 'system', true);
    delete from audit_counted_partitions where to_regclass(name) is null;
    delete from audit_entry_counts c where not exists (select from audit_counted_partitions p where p.name = c.partition_name);
    perform set_config('app.scope', scope, true);
end
$$;

-- Counts the oldest month of the action log that is not counted and ended more than a day ago: so long a clock may be behind, or a
-- transaction last. Returns how many it counted, none or one.
create function audit_count_entries() returns integer
language plpgsql
security definer
set search_path from current
as $$
declare
    month record;
    last uuid;
    counted integer := 0;
    scope text := coalesce(current_setting('app.scope', true), '');
begin
    -- Row-level security is forced, for the owner too. The caller's scope comes back at the end, or with the transaction.
    perform set_config('app.scope', 'system', true);
    perform pg_advisory_xact_lock(hashtext('audit_count_entries'));
    for month in
        select c.relname::text as name, audit_month_id(audit_partition_month(c.oid)) as begins,
            audit_month_id((to_date(right(c.relname::text, 6), 'YYYYMM') + interval '1 month')::date) as ends
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'audit_action_logs'::regclass and c.relname::text ~ '^audit_action_logs_[0-9]{6}$'
            and (to_date(right(c.relname::text, 6), 'YYYYMM') + interval '1 month') at time zone 'utc' < now() - interval '1 day'
            and not exists (select from audit_counted_partitions p where p.name = c.relname::text)
        order by 2 limit 1
    loop
        last := (select p.ends from audit_counted_partitions p order by p.ends desc limit 1);
        exit when month.begins <> last;
        execute format('insert into audit_entry_counts (tenant_id, id, partition_name, organization_id, entries, created_at)
            select tenant_id, gen_random_uuid(), %L, organization_id, count(*), now() from %I group by tenant_id, organization_id',
            month.name, month.name);
        insert into audit_counted_partitions values (month.name, month.begins, month.ends, now());
        counted := counted + 1;
    end loop;
    perform set_config('app.scope', scope, true);
    return counted;
end
$$;
