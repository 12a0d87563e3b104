create index auth_sessions_tenant_id_user_id_idx on auth_sessions (tenant_id, user_id);
drop index auth_sessions_tenant_id_user_id_ended_at_expires_at_idx;
drop index auth_sessions_end_idx;
drop index auth_one_time_tokens_expires_at_idx;
drop index auth_one_time_tokens_tenant_id_user_id_idx;
alter index auth_one_time_tokens_open_idx rename to auth_one_time_tokens_tenant_id_user_id_idx;
alter table auth_one_time_tokens
    drop constraint auth_one_time_tokens_tenant_id_user_id_fkey,
    add constraint auth_one_time_tokens_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id);
