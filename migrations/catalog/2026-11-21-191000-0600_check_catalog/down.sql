alter table catalog_categories
    drop constraint catalog_categories_tenant_id_parent_id_fkey,
    add constraint catalog_categories_tenant_id_parent_id_fkey
        foreign key (tenant_id, parent_id) references catalog_categories (tenant_id, id),
    drop constraint catalog_categories_slug_check,
    drop constraint catalog_categories_name_check;

alter table catalog_prices
    drop constraint catalog_prices_currency_code_check;

alter table catalog_variants
    drop constraint catalog_variants_options_check,
    drop constraint catalog_variants_barcode_check,
    drop constraint catalog_variants_sku_check,
    drop constraint catalog_variants_name_check;

alter table catalog_products
    drop constraint catalog_products_tags_check,
    drop constraint catalog_products_primary_currency_code_check,
    drop constraint catalog_products_handle_check,
    drop constraint catalog_products_sku_check,
    drop constraint catalog_products_description_check,
    drop constraint catalog_products_subtitle_check,
    drop constraint catalog_products_title_check;
