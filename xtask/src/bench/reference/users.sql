-- The bare page: 50 rows in the order of the index.
select id, email, name, organization_id, is_active, is_confirmed, last_login_at, created_at, updated_at
from auth_users where tenant_id = :tenant and deleted_at is null order by email_norm, id limit 50;
