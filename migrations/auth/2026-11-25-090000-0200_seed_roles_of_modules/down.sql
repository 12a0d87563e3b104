drop index auth_users_tenant_id_name_idx;

alter table auth_one_time_tokens drop column sent_at;

-- Roles that modules brought stay, as roles of their tenants. Row-level security is forced, for the owner too.
set local app.scope = 'system';
update auth_roles set seeded_as = null where seeded_as not in ('admin', 'employee');
set local app.scope = '';
alter table auth_roles
    drop constraint auth_roles_seeded_as_check,
    add constraint auth_roles_seeded_as_check check (seeded_as in ('admin', 'employee'));
