create table catalog_products (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    title text not null,
    subtitle text,
    description text,
    sku text,
    handle text,
    product_type text not null,
    is_active boolean not null,
    primary_currency_code text,
    tags text[] not null,
    metadata jsonb,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint catalog_products_tenant_id_organization_id_sku_key unique (tenant_id, organization_id, sku),
    constraint catalog_products_tenant_id_organization_id_handle_key unique (tenant_id, organization_id, handle),
    constraint catalog_products_product_type_check check (product_type in ('simple', 'configurable', 'virtual'))
);
create index catalog_products_tenant_id_created_at_idx on catalog_products (tenant_id, created_at desc, id desc);
create index catalog_products_tags_idx on catalog_products using gin (tags);

create table catalog_variants (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    product_id uuid not null,
    name text not null,
    sku text,
    barcode text,
    options jsonb,
    position integer not null,
    is_active boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint catalog_variants_tenant_id_organization_id_sku_key unique (tenant_id, organization_id, sku),
    constraint catalog_variants_tenant_id_product_id_id_key unique (tenant_id, product_id, id),
    constraint catalog_variants_tenant_id_product_id_fkey
        foreign key (tenant_id, product_id) references catalog_products (tenant_id, id) on delete cascade
);

-- The second reference lets no price name a variant of another product.
create table catalog_prices (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    product_id uuid not null,
    variant_id uuid,
    kind text not null,
    currency_code text not null,
    min_quantity integer not null,
    amount numeric(16, 4) not null,
    tax_rate numeric(7, 4),
    starts_at timestamptz(3),
    ends_at timestamptz(3),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint catalog_prices_tenant_id_product_id_terms_key unique nulls not distinct
        (tenant_id, product_id, variant_id, kind, currency_code, min_quantity, starts_at),
    constraint catalog_prices_tenant_id_product_id_fkey
        foreign key (tenant_id, product_id) references catalog_products (tenant_id, id) on delete cascade,
    constraint catalog_prices_tenant_id_product_id_variant_id_fkey
        foreign key (tenant_id, product_id, variant_id) references catalog_variants (tenant_id, product_id, id)
        on delete cascade,
    constraint catalog_prices_kind_check check (kind in ('regular', 'sale')),
    constraint catalog_prices_min_quantity_check check (min_quantity >= 1),
    constraint catalog_prices_amount_check check (amount >= 0),
    constraint catalog_prices_tax_rate_check check (tax_rate between 0 and 100),
    constraint catalog_prices_starts_at_check check (starts_at < ends_at)
);
create index catalog_prices_tenant_id_variant_id_idx on catalog_prices (tenant_id, variant_id);

create table catalog_categories (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    name text not null,
    slug text not null,
    parent_id uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint catalog_categories_tenant_id_organization_id_slug_key unique (tenant_id, organization_id, slug),
    constraint catalog_categories_tenant_id_parent_id_fkey
        foreign key (tenant_id, parent_id) references catalog_categories (tenant_id, id)
);
create index catalog_categories_tenant_id_parent_id_idx on catalog_categories (tenant_id, parent_id);

create table catalog_product_categories (
    tenant_id uuid not null,
    id uuid not null,
    product_id uuid not null,
    category_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint catalog_product_categories_tenant_id_product_id_category_id_key unique (tenant_id, product_id, category_id),
    constraint catalog_product_categories_tenant_id_product_id_fkey
        foreign key (tenant_id, product_id) references catalog_products (tenant_id, id) on delete cascade,
    constraint catalog_product_categories_tenant_id_category_id_fkey
        foreign key (tenant_id, category_id) references catalog_categories (tenant_id, id) on delete cascade
);
create index catalog_product_categories_tenant_id_category_id_idx on catalog_product_categories (tenant_id, category_id);

call app_secure_table('catalog_products');
call app_secure_table('catalog_variants');
call app_secure_table('catalog_prices');
call app_secure_table('catalog_categories');
call app_secure_table('catalog_product_categories');
