create or replace function audit_erase(tenant uuid, kind text, resource uuid) returns bigint
language plpgsql
security definer
as $$
declare
    erased bigint;
    part jsonb := jsonb_build_array(jsonb_build_object('id', resource));
    named jsonb := jsonb_build_array(jsonb_build_object('kind', kind, 'id', resource));
begin
    if tenant is distinct from app_tenant_id() then
        raise exception 'entries of another tenant are not erased';
    end if;
    update audit_action_logs
    set snapshot_before = null, snapshot_after = null, changes = null, actor_name = null, undo_secret = null, version_before = null,
        version_after = null
    where tenant_id = tenant and resource_kind = kind and resource_id = resource::text;
    get diagnostics erased = row_count;
    update audit_action_logs l
    set undo_secret = null, version_before = null, version_after = null, touched = (
        select jsonb_agg(
            case when one @> (named -> 0) then one || '{"before": null, "after": null}' else one end order by place)
        from jsonb_array_elements(l.touched) with ordinality as t (one, place))
    where tenant_id = tenant and touched @> named;
    update audit_action_logs
    set snapshot_before = audit_without(snapshot_before, kind, resource::text),
        snapshot_after = audit_without(snapshot_after, kind, resource::text)
    where tenant_id = tenant and (
        snapshot_before -> '_children' -> kind @> part or snapshot_after -> '_children' -> kind @> part
        or snapshot_before -> '_links' @> named or snapshot_after -> '_links' @> named);
    update audit_action_logs set actor_name = null where tenant_id = tenant and actor_id = resource and actor_name is not null;
    update audit_access_logs set actor_name = null where tenant_id = tenant and actor_id = resource and actor_name is not null;
    return erased;
end
$$;

drop function audit_erase_resources(uuid, text, uuid[]);
drop function audit_without(jsonb, text, text[]);
create function audit_without(image jsonb, kind text, resource text) returns jsonb
language sql immutable parallel safe
as $$
select case when with_links -> '_children' -> kind @> jsonb_build_array(jsonb_build_object('id', resource)) then
    jsonb_set(with_links, array['_children', kind], coalesce(
        (select jsonb_agg(part order by place) from jsonb_array_elements(with_links -> '_children' -> kind) with ordinality as p (part, place)
         where part ->> 'id' is distinct from resource), '[]'))
    else with_links end
from (select case when image -> '_links' @> jsonb_build_array(jsonb_build_object('kind', kind, 'id', resource)) then
    jsonb_set(image, '{_links}', coalesce(
        (select jsonb_agg(link order by place) from jsonb_array_elements(image -> '_links') with ordinality as l (link, place)
         where link ->> 'kind' is distinct from kind or link ->> 'id' is distinct from resource), '[]'))
    else image end as with_links) i
$$;

do $$
declare
    one record;
begin
    for one in
        select p.oid::regprocedure as name from pg_proc p
        where p.pronamespace = current_schema()::regnamespace and p.proname in ('audit_erase', 'audit_without')
    loop
        execute format('alter function %s set search_path = pg_catalog, %I, pg_temp', one.name, current_schema());
    end loop;
end
$$;
