-- The bare page: 50 rows in the order of the index.
select id, name, created_at, updated_at from auth_roles where tenant_id = :tenant order by name_norm, id limit 50;
