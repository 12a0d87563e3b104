-- Modules bring roles of their own (dispatcher, viewer): the original name of a seeded role is any name.
alter table auth_roles
    drop constraint auth_roles_seeded_as_check,
    add constraint auth_roles_seeded_as_check check (seeded_as = lower(seeded_as) and length(seeded_as) between 1 and 100);

-- When the mail with the link was sent; null until then.
alter table auth_one_time_tokens add column sent_at timestamptz(3);

-- Lists by name.
create index auth_users_tenant_id_name_idx on auth_users (tenant_id, name, email_norm, id) where deleted_at is null;
