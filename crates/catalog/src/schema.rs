//! The tables of this module.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    catalog_products (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        title -> Text,
        subtitle -> Nullable<Text>,
        description -> Nullable<Text>,
        sku -> Nullable<Text>,
        handle -> Nullable<Text>,
        product_type -> Text,
        is_active -> Bool,
        primary_currency_code -> Nullable<Text>,
        tags -> Array<Text>,
        metadata -> Nullable<Jsonb>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    catalog_variants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        product_id -> Uuid,
        name -> Text,
        sku -> Nullable<Text>,
        barcode -> Nullable<Text>,
        options -> Nullable<Jsonb>,
        position -> Integer,
        is_active -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    catalog_prices (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        product_id -> Uuid,
        variant_id -> Nullable<Uuid>,
        kind -> Text,
        currency_code -> Text,
        min_quantity -> Integer,
        amount -> Numeric,
        tax_rate -> Nullable<Numeric>,
        starts_at -> Nullable<Timestamptz>,
        ends_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    catalog_categories (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        name -> Text,
        slug -> Text,
        parent_id -> Nullable<Uuid>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    catalog_product_categories (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        product_id -> Uuid,
        category_id -> Uuid,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(
    catalog_products,
    catalog_variants,
    catalog_prices,
    catalog_categories,
    catalog_product_categories,
);
