-- The name before the latest entry of the client's own role, the state of that entry, and the entry of the undo: one statement.
\set name random(1, 1000000000000)
with undone as (
    update audit_action_logs l set execution_state = 'undone', updated_at = now()
    from audit_resource_versions v
    where v.tenant_id = :tenant and v.resource_kind = 'auth.role' and v.resource_id = :role_prefix || lpad(:client_id::text, 12, '0')
        and l.tenant_id = :tenant and l.id = v.last_log_id
    returning l.id, l.snapshot_before
), changed as (
    update auth_roles r set name = 'bench role ' || :client_id::text || ' ' || :name::text,
        name_norm = 'bench role ' || :client_id::text || ' ' || :name::text, updated_at = now()
    from undone
    where r.tenant_id = :tenant and r.id = (:role_prefix || lpad(:client_id::text, 12, '0'))::uuid
    returning r.id, bench.new_id() as log_id, 'auth.role.update' as command, 'edit' as class, '{"name": "after"}'::jsonb as before,
        undone.snapshot_before as after
)
