-- A role, with its entry in the action log: one statement.
\set name random(1, 1000000000000000)
with changed as (
    insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at)
    values (:tenant, bench.new_id(), 'created ' || :name::text, 'created ' || :name::text, now(), now())
    returning id, bench.new_id() as log_id, 'auth.role.create' as command, 'create' as class, null::jsonb as before,
        jsonb_build_object('name', name) as after
)
