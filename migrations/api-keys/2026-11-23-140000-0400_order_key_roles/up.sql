-- Whether any key holds a role is asked for its first key in this order: with the order in the index, PostgreSQL never reads the whole table.
create index api_keys_key_roles_role_tenant_id_role_id_id_idx on api_keys_key_roles (role_tenant_id, role_id, id);
drop index api_keys_key_roles_role_tenant_id_role_id_idx;
