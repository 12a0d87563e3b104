-- One of the spare roles of the client, with its entry in the action log: one statement.
\set next :next + 1
with changed as (
    delete from auth_roles where tenant_id = :tenant and id = (:spare_prefix || lpad((:client_id::bigint * 1000000 + :next)::text, 12, '0'))::uuid
    returning id, bench.new_id() as log_id, 'auth.role.delete' as command, 'delete' as class, jsonb_build_object('name', name) as before,
        null::jsonb as after
)
