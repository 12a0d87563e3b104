-- Erases any number of resources of a kind while the log of the tenant is read once. Only the parts of deleted resources and the affected
-- resources of an entry have links, so no link leads to the snapshots of other entries: all entries have to be read.

-- A snapshot without some resources among its parts (`_children`) and among what refers to it (`_links`).
drop function audit_without(jsonb, text, text);
create function audit_without(snapshot jsonb, kind text, resources text[]) returns jsonb
language sql immutable parallel safe
return (
    select case when jsonb_typeof(s.rest -> '_children' -> kind) = 'array' then
        jsonb_set(s.rest, array['_children', kind], coalesce(
            (select jsonb_agg(c.part order by c.place)
             from jsonb_array_elements(s.rest -> '_children' -> kind) with ordinality as c (part, place)
             where (c.part ->> 'id' = any (resources)) is not true), '[]'))
        else s.rest end
    from (
        select case when jsonb_typeof(snapshot -> '_links') = 'array' then
            jsonb_set(snapshot, '{_links}', coalesce(
                (select jsonb_agg(k.link order by k.place)
                 from jsonb_array_elements(snapshot -> '_links') with ordinality as k (link, place)
                 where (k.link ->> 'kind' = kind and k.link ->> 'id' = any (resources)) is not true), '[]'))
            else snapshot end as rest
    ) s);

-- Erases the contents of the entries about these resources, and in entries about others what they contain about them. Returns the number of
-- entries about these resources. `plan_cache_mode` has PostgreSQL plan with the ids as constants, which it then looks up in a hash table.
create function audit_erase_resources(tenant uuid, kind text, resources uuid[]) returns bigint
language plpgsql
security definer
set plan_cache_mode = force_custom_plan
as $$
declare
    erased bigint;
    entry record;
    -- As the log stores them.
    ids text[] := array(select distinct r::text from unnest(resources) as r);
    parts text[] := array['_children', '_links'];
begin
    if tenant is distinct from app_tenant_id() then
        raise exception 'entries of another tenant are not erased';
    end if;
    update audit_action_logs
    set snapshot_before = null, snapshot_after = null, changes = null, actor_name = null, undo_secret = null, version_before = null,
        version_after = null
    where tenant_id = tenant and resource_kind = kind and resource_id = any (ids);
    get diagnostics erased = row_count;
    for entry in
        select s.id, s.is_affected, s.has_part
        from (
            select l.id,
                exists (
                    select from jsonb_path_query(l.touched, '$[*]') as t (one)
                    where t.one ->> 'kind' = kind and t.one ->> 'id' = any (ids)
                ) as is_affected,
                -- The first condition is cheap, and few snapshots meet it.
                (coalesce(l.snapshot_before ?| parts, false) or coalesce(l.snapshot_after ?| parts, false)) and exists (
                    select from (values (l.snapshot_before), (l.snapshot_after)) as v (snapshot), lateral (
                        select c.part ->> 'id' from jsonb_path_query(v.snapshot -> '_children' -> kind, '$[*]') as c (part)
                        union all
                        select k.link ->> 'id' from jsonb_path_query(v.snapshot -> '_links', '$[*]') as k (link)
                        where k.link ->> 'kind' = kind
                    ) as n (id)
                    where n.id = any (ids)
                ) as has_part
            from audit_action_logs l
            where l.tenant_id = tenant
        ) s
        where s.is_affected or s.has_part
    loop
        if entry.is_affected then
            update audit_action_logs l
            set undo_secret = null, version_before = null, version_after = null, touched = (
                select jsonb_agg(
                    case when t.one ->> 'kind' = kind and t.one ->> 'id' = any (ids)
                        then t.one || '{"before": null, "after": null}' else t.one end
                    order by t.place)
                from jsonb_array_elements(l.touched) with ordinality as t (one, place))
            where l.tenant_id = tenant and l.id = entry.id;
        end if;
        if entry.has_part then
            update audit_action_logs l
            set snapshot_before = audit_without(l.snapshot_before, kind, ids),
                snapshot_after = audit_without(l.snapshot_after, kind, ids)
            where l.tenant_id = tenant and l.id = entry.id;
        end if;
    end loop;
    update audit_action_logs set actor_name = null where tenant_id = tenant and actor_id = any (resources) and actor_name is not null;
    update audit_access_logs set actor_name = null where tenant_id = tenant and actor_id = any (resources) and actor_name is not null;
    return erased;
end
$$;

do $$
begin
    execute format('alter function audit_erase_resources set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
revoke execute on function audit_erase_resources(uuid, text, uuid[]) from public;
revoke execute on function audit_without(jsonb, text, text[]) from public;

-- For processes of the earlier build, which serve until they restart. Runs with the caller's rights.
create or replace function audit_erase(tenant uuid, kind text, resource uuid) returns bigint
language sql
return audit_erase_resources(tenant, kind, array[resource]);
