drop table customers_deal_companies;
drop table customers_deal_people;
drop table customers_deals;
drop table customers_people;
drop table customers_companies;
drop table customers_pipeline_stages;
drop table customers_pipelines;
