-- The order of the list.
create index directory_organizations_tenant_id_name_idx on directory_organizations (tenant_id, name, id) where deleted_at is null;
