-- What the API has refused all along can't come in by another way either.
alter table catalog_products
    add constraint catalog_products_title_check check (char_length(title) between 1 and 255),
    add constraint catalog_products_subtitle_check check (char_length(subtitle) <= 255),
    add constraint catalog_products_description_check check (char_length(description) <= 4000),
    add constraint catalog_products_sku_check check (sku ~ '^[A-Za-z0-9._-]{1,191}$'),
    add constraint catalog_products_handle_check check (handle ~ '^[a-z0-9_-]{1,150}$'),
    add constraint catalog_products_primary_currency_code_check check (primary_currency_code ~ '^[A-Z]{3}$'),
    add constraint catalog_products_tags_check check (cardinality(tags) <= 100);

alter table catalog_variants
    add constraint catalog_variants_name_check check (char_length(name) between 1 and 255),
    add constraint catalog_variants_sku_check check (char_length(sku) <= 191),
    add constraint catalog_variants_barcode_check check (char_length(barcode) <= 191),
    add constraint catalog_variants_options_check check (jsonb_typeof(options) = 'object');

alter table catalog_prices
    add constraint catalog_prices_currency_code_check check (currency_code ~ '^[A-Z]{3}$');

-- A category goes after those below it, and not in the same statement.
alter table catalog_categories
    add constraint catalog_categories_name_check check (char_length(name) between 1 and 150),
    add constraint catalog_categories_slug_check check (slug ~ '^[a-z0-9_-]{1,150}$'),
    drop constraint catalog_categories_tenant_id_parent_id_fkey,
    add constraint catalog_categories_tenant_id_parent_id_fkey
        foreign key (tenant_id, parent_id) references catalog_categories (tenant_id, id) on delete restrict;
