-- Notes that a device registered a token last. Returns whether another device did so before, or none.
drop function app_own_push_token;

create function app_own_push_token(
    tenant uuid, device uuid, token_provider text, token_fingerprint bytea, row_id uuid, noted_at timestamptz) returns boolean
language plpgsql
security definer
as $$
declare
    scope text := coalesce(current_setting('app.scope', true), '');
    is_new boolean;
begin
    if tenant is distinct from app_tenant_id() and not app_is_system() then
        raise exception 'tokens of another tenant are not registered';
    end if;
    -- Row-level security is forced, for the owner too. The caller's scope comes back at the end, or with the transaction.
    perform set_config('app.scope', 'system', true);
    is_new := not exists (
        select from devices_push_token_owners o
        where o.tenant_id = '00000000-0000-0000-0000-000000000000' and o.provider = token_provider and o.fingerprint = token_fingerprint
            and o.owner_tenant_id = tenant and o.device_row_id = device);
    delete from devices_push_token_owners o
    where o.tenant_id = '00000000-0000-0000-0000-000000000000' and o.owner_tenant_id = tenant and o.device_row_id = device
        and (o.provider <> token_provider or o.fingerprint <> token_fingerprint);
    insert into devices_push_token_owners as o
        (tenant_id, id, provider, fingerprint, owner_tenant_id, device_row_id, created_at, updated_at)
    values ('00000000-0000-0000-0000-000000000000', row_id, token_provider, token_fingerprint, tenant, device, noted_at, noted_at)
    on conflict (tenant_id, provider, fingerprint) do update
    set owner_tenant_id = excluded.owner_tenant_id, device_row_id = excluded.device_row_id, updated_at = excluded.updated_at;
    perform set_config('app.scope', scope, true);
    return is_new;
end
$$;

do $$
begin
    execute format('alter function app_own_push_token set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
