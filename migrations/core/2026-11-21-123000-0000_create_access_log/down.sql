drop function audit_drop_partitions(timestamptz, timestamptz);
drop table audit_access_logs;
drop table audit_action_links;
create index audit_action_logs_related_idx on audit_action_logs using gin (related);

drop index audit_action_logs_tenant_id_organization_id_idx;
drop index audit_action_logs_tenant_id_actor_id_idx;
drop index audit_action_logs_tenant_id_resource_idx;
drop index audit_action_logs_tenant_id_parent_resource_idx;
create index audit_action_logs_tenant_id_organization_id_idx
    on audit_action_logs (tenant_id, organization_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_actor_id_idx on audit_action_logs (tenant_id, actor_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_resource_idx
    on audit_action_logs (tenant_id, resource_kind, resource_id, created_at desc, id desc);
create index audit_action_logs_tenant_id_parent_resource_idx
    on audit_action_logs (tenant_id, parent_resource_kind, parent_resource_id, created_at desc, id desc);

create or replace function audit_make_partitions(months integer) returns integer
language plpgsql
security definer
set search_path from current
as $$
declare
    month date := date_trunc('month', now() at time zone 'utc')::date;
    made integer := 0;
    bounds text[];
    name text;
begin
    if months < 0 or months > 24 then
        raise exception 'months must be between 0 and 24';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit_make_partitions'));
    for step in 0..months loop
        name := 'audit_action_logs_' || to_char(month, 'YYYYMM');
        if to_regclass(name) is null then
            bounds := array(
                select lpad(to_hex((extract(epoch from (month + shift)::timestamp) * 1000)::bigint), 12, '0')
                from unnest(array[interval '0', interval '1 month']) as shift);
            if not exists (
                select 1 from audit_action_logs_default
                where id >= (bounds[1] || '00000000000000000000')::uuid and id < (bounds[2] || '00000000000000000000')::uuid)
            then
                execute format(
                    'create table %I partition of audit_action_logs for values from (%L) to (%L)',
                    name, (bounds[1] || '00000000000000000000')::uuid, (bounds[2] || '00000000000000000000')::uuid);
                execute format('call app_secure_table(%L)', name);
                made := made + 1;
            end if;
        end if;
        month := (month + interval '1 month')::date;
    end loop;
    return made;
end
$$;

drop function audit_lowest_id(timestamptz);
