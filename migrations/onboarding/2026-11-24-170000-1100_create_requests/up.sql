-- Requests of persons for a tenant of their own. They belong to the platform tenant. Passwords and tokens are stored as hashes, addresses are sealed.
create table onboarding_requests (
    tenant_id uuid not null,
    id uuid not null,
    kind text not null,
    status text not null,
    email bytea,
    email_hash bytea,
    first_name text not null,
    last_name text not null,
    organization_name text not null,
    password_hash text,
    locale text not null,
    marketing_consent boolean not null,
    terms_accepted_at timestamptz(3) not null,
    token_hash bytea,
    status_token_hash bytea,
    expires_at timestamptz(3) not null,
    verified_at timestamptz(3),
    ended_at timestamptz(3),
    wrong_passwords integer not null default 0,
    provisioning_job_id uuid,
    new_tenant_id uuid,
    new_user_id uuid,
    email_sent_at timestamptz(3),
    ready_email_sent_at timestamptz(3),
    client_ip text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint onboarding_requests_tenant_id_token_hash_key unique (tenant_id, token_hash),
    constraint onboarding_requests_tenant_id_status_token_hash_key unique (tenant_id, status_token_hash),
    constraint onboarding_requests_kind_check check (kind in ('new', 'existing')),
    constraint onboarding_requests_status_check check (status in ('pending', 'processing', 'completed', 'expired', 'failed')),
    constraint onboarding_requests_wrong_passwords_check check (wrong_passwords >= 0),
    constraint onboarding_requests_password_hash_check check (password_hash is null or status in ('pending', 'processing'))
);
create index onboarding_requests_tenant_id_email_hash_idx on onboarding_requests (tenant_id, email_hash);
create index onboarding_requests_tenant_id_provisioning_job_id_idx on onboarding_requests (tenant_id, provisioning_job_id);
-- Ended requests are erased a month after their end.
create index onboarding_requests_tenant_id_ended_at_idx on onboarding_requests (tenant_id, coalesce(ended_at, expires_at));

call app_secure_table('onboarding_requests');
