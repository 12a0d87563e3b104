-- The holders of a role in one tenant. A global role is held in all tenants; without the tenant in the index, those of the others are read too.
create index auth_user_roles_role_tenant_id_role_id_tenant_id_user_id_idx on auth_user_roles (role_tenant_id, role_id, tenant_id, user_id);
drop index auth_user_roles_role_tenant_id_role_id_idx;
