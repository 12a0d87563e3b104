-- One role for every client to rename, and an account for every client to sign in to, with the password of the caller.
insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at)
select '{tenant}', ('{role_prefix}' || lpad(n::text, 12, '0'))::uuid, 'bench role ' || n, 'bench role ' || n, now(), now()
from generate_series(0, {clients} - 1) n;

insert into auth_users
    (tenant_id, id, email, email_norm, name, password_hash, is_active, is_confirmed, created_at, updated_at)
select '{tenant}', bench.new_id(), 'client' || n || '@{domain}', 'client' || n || '@{domain}', 'Client ' || n, c.password_hash, true, true,
    now(), now()
from generate_series(0, {clients} - 1) n, auth_users c
where c.tenant_id = '{tenant}' and c.email_norm = '{email}';
