-- Takes what is personal out of the log, once the owning module has removed the data itself: images, values, names and tokens of the
-- resource's entries, and the resource's own name wherever it acted. With the versions goes the way back: nothing is left to restore. Runs
-- with the owner's rights, since the application may change nothing but the state of an entry.
create function audit_erase(tenant uuid, kind text, resource uuid) returns bigint
language plpgsql
security definer
set search_path from current
as $$
declare
    erased bigint;
begin
    if tenant is distinct from app_tenant_id() and not app_is_system() then
        raise exception 'entries of another tenant are not erased';
    end if;
    update audit_action_logs
    set snapshot_before = null, snapshot_after = null, changes = null, actor_name = null, undo_secret = null, version_before = null,
        version_after = null
    where tenant_id = tenant and resource_kind = kind and resource_id = resource::text;
    get diagnostics erased = row_count;
    update audit_action_logs set actor_name = null where tenant_id = tenant and actor_id = resource and actor_name is not null;
    update audit_access_logs set actor_name = null where tenant_id = tenant and actor_id = resource and actor_name is not null;
    return erased;
end
$$;
revoke execute on function audit_erase(uuid, text, uuid) from public;

-- Deletes up to 5000 tombstones of a table that are older than an instant, in the order of the key from the last one on. What others still
-- refer to stays. Returns where to go on (null: at the end) and how many went.
create function audit_purge_tombstones(target regclass, before timestamptz, inout last_tenant uuid, inout last_id uuid, out gone integer)
language plpgsql
set search_path from current
as $$
declare
    tenants uuid[];
    ids uuid[];
    one integer;
begin
    gone := 0;
    execute format(
        'select array_agg(tenant_id order by tenant_id, id), array_agg(id order by tenant_id, id) from (
            select tenant_id, id from %s where deleted_at < $1 and (tenant_id, id) > ($2, $3) order by tenant_id, id limit 5000) t', target)
        into tenants, ids using before, last_tenant, last_id;
    last_tenant := tenants[cardinality(tenants)];
    last_id := ids[cardinality(ids)];
    begin
        execute format('delete from %s t using unnest($1, $2) k (tenant_id, id)
            where t.tenant_id = k.tenant_id and t.id = k.id and t.deleted_at < $3', target) using tenants, ids, before;
        get diagnostics gone = row_count;
    exception when foreign_key_violation then
        for place in 1..cardinality(ids) loop
            begin
                execute format('delete from %s where tenant_id = $1 and id = $2 and deleted_at < $3', target)
                    using tenants[place], ids[place], before;
                get diagnostics one = row_count;
                gone := gone + one;
            exception when foreign_key_violation then
                null;
            end;
        end loop;
    end;
end
$$;
