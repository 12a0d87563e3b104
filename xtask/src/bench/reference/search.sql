-- The row with the rare name, by its key: the least that returns it.
select id, email, name, organization_id, is_active, is_confirmed, last_login_at, created_at, updated_at
from auth_users where tenant_id = :tenant and id = :needle;
