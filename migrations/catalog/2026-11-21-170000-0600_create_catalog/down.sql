drop table catalog_product_categories;
drop table catalog_categories;
drop table catalog_prices;
drop table catalog_variants;
drop table catalog_products;
