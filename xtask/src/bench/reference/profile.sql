-- The caller's own row, by its key.
select id, email, name, organization_id, updated_at from auth_users where tenant_id = :tenant and id = :user;
