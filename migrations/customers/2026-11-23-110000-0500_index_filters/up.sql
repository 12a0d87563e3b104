-- The records of a stage, a pipeline, an owner or a company, newest first: a page is read in the order of the index.
create index customers_deals_tenant_id_pipeline_stage_id_created_at_idx on customers_deals (tenant_id, pipeline_stage_id, created_at desc, id desc);
drop index customers_deals_tenant_id_pipeline_stage_id_idx;
create index customers_deals_tenant_id_pipeline_id_created_at_idx on customers_deals (tenant_id, pipeline_id, created_at desc, id desc);
drop index customers_deals_tenant_id_pipeline_id_idx;
create index customers_deals_tenant_id_owner_user_id_created_at_idx on customers_deals (tenant_id, owner_user_id, created_at desc, id desc);
drop index customers_deals_tenant_id_owner_user_id_idx;
create index customers_companies_tenant_id_owner_user_id_created_at_idx on customers_companies (tenant_id, owner_user_id, created_at desc, id desc);
drop index customers_companies_tenant_id_owner_user_id_idx;
create index customers_people_tenant_id_owner_user_id_created_at_idx on customers_people (tenant_id, owner_user_id, created_at desc, id desc);
drop index customers_people_tenant_id_owner_user_id_idx;
create index customers_people_tenant_id_company_id_created_at_idx on customers_people (tenant_id, company_id, created_at desc, id desc);
drop index customers_people_tenant_id_company_id_idx;
-- The orders of the lists of pipelines and stages.
create index customers_pipelines_tenant_id_name_idx on customers_pipelines (tenant_id, lower(name), id);
create index customers_pipeline_stages_tenant_id_position_idx on customers_pipeline_stages (tenant_id, position, id);
