-- The order of the list of categories, and the products of an organization, newest first.
create index catalog_categories_tenant_id_name_idx on catalog_categories (tenant_id, name, id);
create index catalog_products_tenant_id_organization_id_created_at_idx
    on catalog_products (tenant_id, organization_id, created_at desc, id desc);
-- The orders of the lists of variants and prices.
create index catalog_variants_tenant_id_position_idx on catalog_variants (tenant_id, position, id);
create index catalog_prices_tenant_id_created_at_idx on catalog_prices (tenant_id, created_at, id);
