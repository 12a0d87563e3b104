drop index auth_roles_tenant_id_seeded_as_key;
alter table auth_roles drop column seeded_as;
