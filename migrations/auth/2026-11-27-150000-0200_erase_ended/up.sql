-- The purge of a user deletes their tokens, as it deletes their sessions. It finds all of them; the index of the open ones keeps a name of its own.
alter table auth_one_time_tokens
    drop constraint auth_one_time_tokens_tenant_id_user_id_fkey,
    add constraint auth_one_time_tokens_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id) on delete cascade;
alter index auth_one_time_tokens_tenant_id_user_id_idx rename to auth_one_time_tokens_open_idx;
create index auth_one_time_tokens_tenant_id_user_id_idx on auth_one_time_tokens (tenant_id, user_id);

-- Tokens in the order of their deletion. An open invitation is shown as long as its user exists, also after it has expired.
create index auth_one_time_tokens_expires_at_idx on auth_one_time_tokens (expires_at)
    where purpose <> 'invite' or used_at is not null or voided_at is not null;

-- Sessions in the order of their deletion.
create index auth_sessions_end_idx on auth_sessions (least(ended_at, expires_at));

-- The live sessions of a user are one range of this index: those that ended or expired are not read.
create index auth_sessions_tenant_id_user_id_ended_at_expires_at_idx on auth_sessions (tenant_id, user_id, ended_at, expires_at);
drop index auth_sessions_tenant_id_user_id_idx;
