-- The account by its address, then the time of the sign-in and the session. Without the hash of the password, which PostgreSQL does not compute.
select id, tenant_id, organization_id, password_hash from auth_users
where email_norm = 'client' || :client_id::text || '@' || :domain and tenant_id = :tenant and deleted_at is null;
with signed_in as (
    update auth_users set last_login_at = now()
    where tenant_id = :tenant and email_norm = 'client' || :client_id::text || '@' || :domain and deleted_at is null
    returning id
)
insert into auth_sessions (tenant_id, id, user_id, token_hash, is_remembered, expires_at, created_at, updated_at)
select :tenant::uuid, bench.new_id(), id, sha256(bench.new_id()::text::bytea), false, now() + interval '8 hours', now(), now() from signed_in;
