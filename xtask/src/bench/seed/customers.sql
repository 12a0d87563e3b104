-- The bench searches users only; without texts of these rows the seed takes half the time.
alter table customers_companies disable trigger customers_companies_search;
alter table customers_people disable trigger customers_people_search;
alter table customers_deals disable trigger customers_deals_search;

-- All deals are in the 20 stages of the first pipeline.
insert into customers_pipelines (tenant_id, id, organization_id, name, created_at, updated_at)
select '{tenant}', bench.id(16, n), bench.id(1, n % 20 + 1), 'Pipeline ' || lpad(n::text, 7, '0'), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into customers_pipeline_stages (tenant_id, id, organization_id, pipeline_id, label, position, created_at, updated_at)
select '{tenant}', bench.id(17, n), bench.id(1, p.number % 20 + 1), bench.id(16, p.number), 'Stage ' || n, case when n > 20 then 1 else n end,
    bench.at(n), bench.at(n)
from generate_series(1, {rows}) n cross join lateral (select greatest(n - 19, 1) as number) p;

insert into customers_companies
    (tenant_id, id, organization_id, display_name, primary_email, website_url, owner_user_id, is_active, created_at, updated_at)
select '{tenant}', bench.id(18, n), bench.id(1, n % 20 + 1), 'Company ' || n, 'office' || n || '@example.com', 'https://example.com/' || n,
    bench.id(3, n), true, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into customers_people
    (tenant_id, id, organization_id, first_name, last_name, display_name, primary_email, company_id, owner_user_id, is_active, created_at,
     updated_at)
select '{tenant}', bench.id(19, n), bench.id(1, n % 20 + 1), 'First', 'Last ' || n, 'First Last ' || n, 'person' || n || '@example.com',
    bench.id(18, n), bench.id(3, n), true, bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

insert into customers_deals
    (tenant_id, id, organization_id, title, description, status, pipeline_id, pipeline_stage_id, value_amount, value_currency, probability,
     expected_close_on, owner_user_id, source, created_at, updated_at)
select '{tenant}', bench.id(20, n), bench.id(1, n % 20 + 1), 'Deal ' || n, 'The deal with number ' || n, 'open', bench.id(16, 1),
    bench.id(17, n % 20 + 1), n % 1000 + 0.5, 'EUR', n % 100, date '2030-01-01' + (n % 365)::integer, bench.id(3, n), 'bench', bench.at(n),
    bench.at(n)
from generate_series(1, {rows}) n;

insert into customers_deal_people (tenant_id, id, deal_id, person_id, created_at, updated_at)
select '{tenant}', bench.id(21, n), bench.id(20, n), bench.id(19, n), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;
insert into customers_deal_companies (tenant_id, id, deal_id, company_id, created_at, updated_at)
select '{tenant}', bench.id(22, n), bench.id(20, n), bench.id(18, n), bench.at(n), bench.at(n)
from generate_series(1, {rows}) n;

alter table customers_companies enable trigger customers_companies_search;
alter table customers_people enable trigger customers_people_search;
alter table customers_deals enable trigger customers_deals_search;
