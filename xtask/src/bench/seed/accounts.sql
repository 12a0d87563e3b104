-- Organizations: 20 hold the data of the tenant; each has up to 50 below it.
insert into directory_organizations (tenant_id, id, name, slug, parent_id, is_active, created_at, updated_at)
select '{tenant}', bench.id(1, n), 'Organization ' || lpad(n::text, 7, '0'), 'organization-' || n,
    case when n > 50 then bench.id(1, n / 50) end, true, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at)
select '{tenant}', bench.id(2, n), 'Role ' || lpad(n::text, 7, '0'), 'role ' || lpad(n::text, 7, '0'), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into auth_role_acls (tenant_id, id, role_id, is_super_admin, features, organizations, created_at, updated_at)
select '{tenant}', bench.id(2, n), bench.id(2, n), false, '{directory.organizations.view,customers.deals.view}', null, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

-- The seventh is the only one that the search for a rare text finds.
insert into auth_users
    (tenant_id, id, organization_id, email, email_norm, name, password_hash, is_active, is_confirmed, created_at, updated_at)
select '{tenant}', bench.id(3, n), bench.id(1, n % 20 + 1), 'user' || n || '@{rows}.example.com', 'user' || n || '@{rows}.example.com',
    case n when 7 then 'Needle Haystack' else 'User ' || n end, 'none', true, true, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

-- Two roles for every user: one of ten that many hold, and one of all the others.
insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
select '{tenant}', bench.id(4, n), bench.id(3, n), '{tenant}', bench.id(2, n % 10 + 1), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;
insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
select '{tenant}', bench.id(5, n), bench.id(3, n), '{tenant}', bench.id(2, n % ({rows} - 10) + 11), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into api_keys_keys
    (tenant_id, id, name, organization_id, key_prefix, key_hash, created_by_kind, created_by_id, created_at, updated_at)
select '{tenant}', bench.id(6, n), 'Key ' || n, bench.id(1, n % 20 + 1), 'bench' || n, sha256(n::text::bytea), 'user', bench.id(3, n % 20 + 1),
    bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;
insert into api_keys_key_roles (tenant_id, id, key_id, role_tenant_id, role_id, created_at, updated_at)
select '{tenant}', bench.id(7, n), bench.id(6, n), '{tenant}', bench.id(2, n % 10 + 1), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;
