-- What the caller's roles grant.
select a.is_super_admin, a.features, a.organizations
from auth_user_roles l join auth_role_acls a on a.tenant_id = l.role_tenant_id and a.role_id = l.role_id
where l.tenant_id = :tenant and l.user_id = :user;
