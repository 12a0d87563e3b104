call app_search_table('catalog_products', 'catalog.product', 'id', 'title', 'subtitle', 'sku', 'handle');
-- A search for the sku of a variant finds its product.
call app_search_table('catalog_variants', 'catalog.product', 'product_id', 'sku');
