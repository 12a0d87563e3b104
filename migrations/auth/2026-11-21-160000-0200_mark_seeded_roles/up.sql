-- Which of the seeded roles a role was made as. A name says nothing: roles are renamed, and others may then take the name.
alter table auth_roles
    add column seeded_as text,
    add constraint auth_roles_seeded_as_check check (seeded_as in ('admin', 'employee'));

-- Row-level security is forced, for the owner too.
set local app.scope = 'system';
update auth_roles r set seeded_as = r.name_norm
where r.name_norm in ('admin', 'employee') and r.tenant_id <> '00000000-0000-0000-0000-000000000000' and exists (
    select 1 from auth_default_grants d where d.tenant_id = r.tenant_id and d.role_id = r.id);
set local app.scope = '';

create unique index auth_roles_tenant_id_seeded_as_key on auth_roles (tenant_id, seeded_as) where seeded_as is not null;
