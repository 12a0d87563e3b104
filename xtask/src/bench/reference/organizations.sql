-- The bare page: 50 rows in the order of an index. It is that of the slug, which every version of the schema has.
select id, name, slug, parent_id, logo_url, is_active, created_at, updated_at
from directory_organizations where tenant_id = :tenant and deleted_at is null order by slug limit 50;
