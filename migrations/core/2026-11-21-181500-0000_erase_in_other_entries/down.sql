create or replace function audit_erase(tenant uuid, kind text, resource uuid) returns bigint
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
drop function audit_without(jsonb, text, text);
