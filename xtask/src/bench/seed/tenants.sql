-- Further tenants with a twentieth of the users each; the measured one exists already and gets all of them.
insert into directory_tenants (tenant_id, id, name, is_active, created_at, updated_at)
select id, id, 'Tenant ' || number, true, now(), now()
from (select gen_random_uuid() as id, number from generate_series(3, {tenants}) as number) as made;

insert into directory_organizations (tenant_id, id, name, slug, is_active, created_at, updated_at)
select t.tenant_id, gen_random_uuid(), 'Organization ' || number, 'organization-' || number, true, now(), now()
from directory_tenants t, generate_series(1, 10) as number;

insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at)
select t.tenant_id, gen_random_uuid(), 'Seeded ' || number, 'seeded ' || number, now(), now()
from directory_tenants t, generate_series(1, 10) as number;

insert into auth_users
    (tenant_id, id, organization_id, email, email_norm, name, password_hash, is_active, is_confirmed, created_at, updated_at)
select t.tenant_id, gen_random_uuid(), o.id, email, email, 'User ' || number, 'none', true, true, now(), now()
from directory_tenants t
cross join lateral generate_series(1, case when t.id = {tenant} then {users} - 1 else {users} / 20 end) as number
cross join lateral (select 'user' || number || '@example.com' as email) as address
join directory_organizations o on o.tenant_id = t.tenant_id and o.slug = 'organization-' || (number % 10 + 1);

-- Two roles for every user.
insert into auth_user_roles (tenant_id, id, user_id, role_tenant_id, role_id, created_at, updated_at)
select u.tenant_id, gen_random_uuid(), u.id, r.tenant_id, r.id, now(), now()
from (select tenant_id, id, row_number() over () as number from auth_users where password_hash = 'none') as u
cross join lateral unnest(array[u.number % 10 + 1, (u.number + 3) % 10 + 1]) as role
join auth_roles r on r.tenant_id = u.tenant_id and r.name_norm = 'seeded ' || role;

-- One for every client to rename.
insert into auth_roles (tenant_id, id, name, name_norm, created_at, updated_at) values {roles};

grant select on all tables in schema public to {bypassing};
