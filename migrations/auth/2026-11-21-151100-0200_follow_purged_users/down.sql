alter table auth_sessions
    drop constraint auth_sessions_tenant_id_user_id_fkey,
    add constraint auth_sessions_tenant_id_user_id_fkey foreign key (tenant_id, user_id) references auth_users (tenant_id, id);
alter table auth_consents
    drop constraint auth_consents_tenant_id_user_id_fkey,
    add constraint auth_consents_tenant_id_user_id_fkey foreign key (tenant_id, user_id) references auth_users (tenant_id, id);

drop index auth_sessions_tenant_id_user_id_idx;
create index auth_sessions_tenant_id_user_id_idx on auth_sessions (tenant_id, user_id) where ended_at is null;
