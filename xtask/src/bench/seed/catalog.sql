-- The bench searches users only; without texts of these rows the seed takes half the time.
alter table catalog_products disable trigger catalog_products_search;
alter table catalog_variants disable trigger catalog_variants_search;

insert into catalog_categories (tenant_id, id, organization_id, name, slug, parent_id, created_at, updated_at)
select '{tenant}', bench.id(32, n), bench.id(1, 1), 'Category ' || lpad(n::text, 7, '0'), 'category-' || n,
    case when n > 50 then bench.id(32, n / 50) end, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

-- One of 20 is virtual.
insert into catalog_products
    (tenant_id, id, organization_id, title, subtitle, sku, handle, product_type, is_active, primary_currency_code, tags, metadata, created_at,
     updated_at)
select '{tenant}', bench.id(33, n), bench.id(1, n % 20 + 1), 'Product ' || n, 'With the number ' || n, 'SKU-' || n, 'product-' || n,
    case n % 20 when 0 then 'virtual' else 'simple' end, true, 'EUR', array['tag' || n % 100], '{"weight": 1}', bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into catalog_variants (tenant_id, id, organization_id, product_id, name, sku, position, is_active, created_at, updated_at)
select '{tenant}', bench.id(34, n), bench.id(1, n % 20 + 1), bench.id(33, n), 'Variant ' || n, 'VAR-' || n, 0, true, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into catalog_prices
    (tenant_id, id, organization_id, product_id, variant_id, kind, currency_code, min_quantity, amount, created_at, updated_at)
select '{tenant}', bench.id(35, n), bench.id(1, n % 20 + 1), bench.id(33, n), bench.id(34, n), 'regular', 'EUR', 1, n % 1000, bench.at(n),
    bench.at(n)
from generate_series(1, {rows}) n;

insert into catalog_product_categories (tenant_id, id, product_id, category_id, created_at, updated_at)
select '{tenant}', bench.id(36, n), bench.id(33, n), bench.id(32, n), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

alter table catalog_products enable trigger catalog_products_search;
alter table catalog_variants enable trigger catalog_variants_search;
