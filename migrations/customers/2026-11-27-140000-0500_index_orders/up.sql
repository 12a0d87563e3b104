-- The orders of the lists by change and by name: a page is read in the order of the index, for whoever sees the whole tenant.
create index customers_deals_tenant_id_updated_at_idx on customers_deals (tenant_id, updated_at desc, id desc);
create index customers_deals_tenant_id_title_idx on customers_deals (tenant_id, lower(title), id);
create index customers_companies_tenant_id_updated_at_idx on customers_companies (tenant_id, updated_at desc, id desc);
create index customers_companies_tenant_id_display_name_idx on customers_companies (tenant_id, display_name, id);
create index customers_people_tenant_id_updated_at_idx on customers_people (tenant_id, updated_at desc, id desc);
create index customers_people_tenant_id_display_name_idx on customers_people (tenant_id, display_name, id);
