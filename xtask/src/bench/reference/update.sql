-- Another name for the client's own role, with its entry in the action log: one statement.
\set name random(1, 1000000000000)
with changed as (
    update auth_roles set name = 'bench role ' || :client_id::text || ' ' || :name::text,
        name_norm = 'bench role ' || :client_id::text || ' ' || :name::text, updated_at = now()
    where tenant_id = :tenant and id = (:role_prefix || lpad(:client_id::text, 12, '0'))::uuid
    returning id, bench.new_id() as log_id, 'auth.role.update' as command, 'edit' as class, '{"name": "before"}'::jsonb as before,
        jsonb_build_object('name', name) as after
)
