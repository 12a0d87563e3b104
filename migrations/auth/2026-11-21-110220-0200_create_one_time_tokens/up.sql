create table auth_one_time_tokens (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    purpose text not null,
    token_hash bytea not null,
    expires_at timestamptz(3) not null,
    used_at timestamptz(3),
    voided_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_one_time_tokens_tenant_id_user_id_fkey
        foreign key (tenant_id, user_id) references auth_users (tenant_id, id),
    constraint auth_one_time_tokens_purpose_check check (purpose in ('reset', 'invite'))
);
create index auth_one_time_tokens_token_hash_idx on auth_one_time_tokens (token_hash);
create index auth_one_time_tokens_tenant_id_user_id_idx on auth_one_time_tokens (tenant_id, user_id)
    where used_at is null and voided_at is null;
call app_secure_table('auth_one_time_tokens');
