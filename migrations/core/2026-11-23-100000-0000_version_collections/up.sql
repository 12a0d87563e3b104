-- How often the rows of a kind have changed in a tenant. Totals and entity tags of lists are valid as long as the version stays the same.
create table core_collections (
    tenant_id uuid not null,
    id uuid not null,
    kind text not null,
    version bigint not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint core_collections_tenant_id_kind_key unique (tenant_id, kind)
) with (fillfactor = 50);

call app_secure_table('core_collections');
-- Lists of a tenant also show rows of the platform, such as global roles.
create policy platform_versions on core_collections for select
    using (tenant_id = '00000000-0000-0000-0000-000000000000');
