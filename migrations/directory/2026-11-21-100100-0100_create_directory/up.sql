create table directory_tenants (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    is_active boolean not null,
    locales text[],
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint directory_tenants_tenant_id_key unique (tenant_id),
    constraint directory_tenants_tenant_id_check check (tenant_id = id)
);

create table directory_organizations (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    slug text not null,
    parent_id uuid,
    logo_url text,
    is_active boolean not null,
    deleted_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint directory_organizations_tenant_id_fkey foreign key (tenant_id) references directory_tenants (tenant_id),
    constraint directory_organizations_tenant_id_parent_id_fkey
        foreign key (tenant_id, parent_id) references directory_organizations (tenant_id, id)
);
create unique index directory_organizations_tenant_id_slug_key
    on directory_organizations (tenant_id, slug) where deleted_at is null;
create index directory_organizations_tenant_id_parent_id_idx on directory_organizations (tenant_id, parent_id);
-- For look-ups before the tenant is known: the public one by slug, the selection of an organization among all tenants.
create index directory_organizations_slug_idx on directory_organizations (slug);
create index directory_organizations_id_idx on directory_organizations (id);

call app_secure_table('directory_tenants');
call app_secure_table('directory_organizations');
