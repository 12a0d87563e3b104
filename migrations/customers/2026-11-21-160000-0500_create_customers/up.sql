-- Users and organizations belong to other modules: their ids are checked when they are written and have no foreign key.
create table customers_pipelines (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    name text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint customers_pipelines_name_check check (char_length(name) between 1 and 200)
);
create unique index customers_pipelines_tenant_id_organization_id_name_key
    on customers_pipelines (tenant_id, organization_id, lower(name));

create table customers_pipeline_stages (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    pipeline_id uuid not null,
    label text not null,
    position integer not null,
    color text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    -- Deals refer to it, so that no deal can be in a stage of another pipeline.
    constraint customers_pipeline_stages_tenant_id_pipeline_id_id_key unique (tenant_id, pipeline_id, id),
    -- Checked when a statement ends, so that one statement can swap places.
    constraint customers_pipeline_stages_tenant_id_pipeline_id_position_key
        unique (tenant_id, pipeline_id, position) deferrable,
    constraint customers_pipeline_stages_tenant_id_pipeline_id_fkey
        foreign key (tenant_id, pipeline_id) references customers_pipelines (tenant_id, id) on delete cascade,
    constraint customers_pipeline_stages_label_check check (char_length(label) between 1 and 200),
    constraint customers_pipeline_stages_color_check check (color ~ '^#[0-9a-f]{6}$')
);
create unique index customers_pipeline_stages_tenant_id_pipeline_id_label_key
    on customers_pipeline_stages (tenant_id, pipeline_id, lower(label));

create table customers_companies (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    display_name text not null,
    legal_name text,
    description text,
    primary_email text,
    primary_phone text,
    website_url text,
    industry text,
    owner_user_id uuid,
    is_active boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint customers_companies_display_name_check check (char_length(display_name) between 1 and 200),
    constraint customers_companies_legal_name_check check (char_length(legal_name) <= 200),
    constraint customers_companies_description_check check (char_length(description) <= 4000),
    constraint customers_companies_primary_email_check check (char_length(primary_email) <= 320),
    constraint customers_companies_primary_phone_check check (char_length(primary_phone) <= 50),
    constraint customers_companies_website_url_check check (char_length(website_url) <= 300 and website_url ~* '^https?://'),
    constraint customers_companies_industry_check check (char_length(industry) <= 150)
);
create index customers_companies_tenant_id_organization_id_created_at_idx
    on customers_companies (tenant_id, organization_id, created_at desc, id desc);
create index customers_companies_tenant_id_owner_user_id_idx on customers_companies (tenant_id, owner_user_id);

create table customers_people (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    first_name text not null,
    last_name text not null,
    display_name text not null,
    job_title text,
    primary_email text,
    primary_phone text,
    company_id uuid,
    owner_user_id uuid,
    is_active boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint customers_people_tenant_id_company_id_fkey
        foreign key (tenant_id, company_id) references customers_companies (tenant_id, id)
        on delete set null (company_id),
    constraint customers_people_first_name_check check (char_length(first_name) between 1 and 120),
    constraint customers_people_last_name_check check (char_length(last_name) between 1 and 120),
    constraint customers_people_display_name_check check (char_length(display_name) between 1 and 250),
    constraint customers_people_job_title_check check (char_length(job_title) <= 150),
    constraint customers_people_primary_email_check check (char_length(primary_email) <= 320),
    constraint customers_people_primary_phone_check check (char_length(primary_phone) <= 50)
);
create index customers_people_tenant_id_organization_id_created_at_idx
    on customers_people (tenant_id, organization_id, created_at desc, id desc);
create index customers_people_tenant_id_owner_user_id_idx on customers_people (tenant_id, owner_user_id);
create index customers_people_tenant_id_company_id_idx on customers_people (tenant_id, company_id);

create table customers_deals (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    title text not null,
    description text,
    status text not null,
    pipeline_id uuid,
    pipeline_stage_id uuid,
    value_amount numeric(14, 2),
    value_currency text,
    probability smallint,
    expected_close_on date,
    closed_at timestamptz(3),
    lost_reason text,
    owner_user_id uuid,
    source text,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint customers_deals_tenant_id_pipeline_id_fkey
        foreign key (tenant_id, pipeline_id) references customers_pipelines (tenant_id, id) on delete restrict,
    constraint customers_deals_tenant_id_pipeline_id_pipeline_stage_id_fkey
        foreign key (tenant_id, pipeline_id, pipeline_stage_id)
        references customers_pipeline_stages (tenant_id, pipeline_id, id) on delete restrict,
    constraint customers_deals_title_check check (char_length(title) between 1 and 200),
    constraint customers_deals_description_check check (char_length(description) <= 4000),
    constraint customers_deals_status_check check (status in ('open', 'won', 'lost')),
    constraint customers_deals_pipeline_stage_id_check check (pipeline_stage_id is null or pipeline_id is not null),
    constraint customers_deals_value_amount_check check (value_amount >= 0),
    constraint customers_deals_value_currency_check
        check (coalesce(value_currency ~ '^[A-Z]{3}$', value_amount is null)),
    constraint customers_deals_probability_check check (probability between 0 and 100),
    constraint customers_deals_closed_at_check check ((status = 'open') = (closed_at is null)),
    constraint customers_deals_lost_reason_check
        check (char_length(lost_reason) <= 4000 and (lost_reason is null or status = 'lost')),
    constraint customers_deals_source_check check (char_length(source) <= 150)
);
create index customers_deals_tenant_id_organization_id_created_at_idx
    on customers_deals (tenant_id, organization_id, created_at desc, id desc);
create index customers_deals_tenant_id_pipeline_id_idx on customers_deals (tenant_id, pipeline_id);
create index customers_deals_tenant_id_pipeline_stage_id_idx on customers_deals (tenant_id, pipeline_stage_id);
create index customers_deals_tenant_id_owner_user_id_idx on customers_deals (tenant_id, owner_user_id);

create table customers_deal_people (
    tenant_id uuid not null,
    id uuid not null,
    deal_id uuid not null,
    person_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint customers_deal_people_tenant_id_deal_id_person_id_key unique (tenant_id, deal_id, person_id),
    constraint customers_deal_people_tenant_id_deal_id_fkey
        foreign key (tenant_id, deal_id) references customers_deals (tenant_id, id) on delete cascade,
    constraint customers_deal_people_tenant_id_person_id_fkey
        foreign key (tenant_id, person_id) references customers_people (tenant_id, id) on delete cascade
);
create index customers_deal_people_tenant_id_person_id_idx on customers_deal_people (tenant_id, person_id);

create table customers_deal_companies (
    tenant_id uuid not null,
    id uuid not null,
    deal_id uuid not null,
    company_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint customers_deal_companies_tenant_id_deal_id_company_id_key unique (tenant_id, deal_id, company_id),
    constraint customers_deal_companies_tenant_id_deal_id_fkey
        foreign key (tenant_id, deal_id) references customers_deals (tenant_id, id) on delete cascade,
    constraint customers_deal_companies_tenant_id_company_id_fkey
        foreign key (tenant_id, company_id) references customers_companies (tenant_id, id) on delete cascade
);
create index customers_deal_companies_tenant_id_company_id_idx on customers_deal_companies (tenant_id, company_id);

call app_secure_table('customers_pipelines');
call app_secure_table('customers_pipeline_stages');
call app_secure_table('customers_companies');
call app_secure_table('customers_people');
call app_secure_table('customers_deals');
call app_secure_table('customers_deal_people');
call app_secure_table('customers_deal_companies');
