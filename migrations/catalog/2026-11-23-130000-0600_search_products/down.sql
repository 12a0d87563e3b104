call app_search_table_no_more('catalog_variants');
call app_search_table_no_more('catalog_products');
