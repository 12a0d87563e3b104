-- Lists leave out super administrators; few access control lists have the flag.
create index auth_role_acls_super_admins_idx on auth_role_acls (tenant_id, role_id) where is_super_admin;
create index auth_user_acls_super_admins_idx on auth_user_acls (tenant_id, user_id) where is_super_admin;
-- The users of an organization in the order of their list.
create index auth_users_tenant_id_organization_id_email_norm_idx on auth_users (tenant_id, organization_id, email_norm, id);
drop index auth_users_tenant_id_organization_id_idx;
