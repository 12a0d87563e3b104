-- The orders of the list of products by change and by title.
create index catalog_products_tenant_id_updated_at_idx on catalog_products (tenant_id, updated_at desc, id desc);
create index catalog_products_tenant_id_title_idx on catalog_products (tenant_id, title, id);
