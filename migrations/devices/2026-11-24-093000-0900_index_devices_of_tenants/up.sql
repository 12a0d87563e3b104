-- Administrators list the devices of all users of a tenant, those seen last first.
create index devices_devices_tenant_id_last_seen_at_idx
    on devices_devices (tenant_id, last_seen_at desc nulls last, id) where deleted_at is null;
