-- Whoever sees the whole tenant lists it without naming organizations.
create index customers_deals_tenant_id_created_at_idx on customers_deals (tenant_id, created_at desc, id desc);
create index customers_companies_tenant_id_created_at_idx on customers_companies (tenant_id, created_at desc, id desc);
create index customers_people_tenant_id_created_at_idx on customers_people (tenant_id, created_at desc, id desc);
