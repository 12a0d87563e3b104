-- An image without a resource among its parts (`_children`) and among what refers to it (`_links`).
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

-- Also takes out of the entries about other resources what they tell of this one: its images where it was touched beside them (such an entry
-- is not undone any more: there is nothing to restore it from), and its row in the images of what it was a part of. Reads all entries of the
-- tenant, since a long entry names only the first hundred of its parts.
create or replace function audit_erase(tenant uuid, kind text, resource uuid) returns bigint
language plpgsql
security definer
set search_path from current
as $$
declare
    erased bigint;
    part jsonb := jsonb_build_array(jsonb_build_object('id', resource));
    named jsonb := jsonb_build_array(jsonb_build_object('kind', kind, 'id', resource));
begin
    if tenant is distinct from app_tenant_id() and not app_is_system() then
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
