-- The bare page: the latest 50 rows of a type, active ones only.
select id, organization_id, title, subtitle, description, sku, handle, product_type, is_active, primary_currency_code, tags, metadata,
    created_at, updated_at
from catalog_products where tenant_id = :tenant and is_active and product_type = 'virtual' order by created_at desc, id desc limit 50;
