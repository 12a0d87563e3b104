//! The tables of this module.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    customers_pipelines (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        name -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    customers_pipeline_stages (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        pipeline_id -> Uuid,
        label -> Text,
        position -> Integer,
        color -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    customers_companies (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        display_name -> Text,
        legal_name -> Nullable<Text>,
        description -> Nullable<Text>,
        primary_email -> Nullable<Text>,
        primary_phone -> Nullable<Text>,
        website_url -> Nullable<Text>,
        industry -> Nullable<Text>,
        owner_user_id -> Nullable<Uuid>,
        is_active -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    customers_people (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        first_name -> Text,
        last_name -> Text,
        display_name -> Text,
        job_title -> Nullable<Text>,
        primary_email -> Nullable<Text>,
        primary_phone -> Nullable<Text>,
        company_id -> Nullable<Uuid>,
        owner_user_id -> Nullable<Uuid>,
        is_active -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    customers_deals (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        title -> Text,
        description -> Nullable<Text>,
        status -> Text,
        pipeline_id -> Nullable<Uuid>,
        pipeline_stage_id -> Nullable<Uuid>,
        value_amount -> Nullable<Numeric>,
        value_currency -> Nullable<Text>,
        probability -> Nullable<SmallInt>,
        expected_close_on -> Nullable<Date>,
        closed_at -> Nullable<Timestamptz>,
        lost_reason -> Nullable<Text>,
        owner_user_id -> Nullable<Uuid>,
        source -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    customers_deal_people (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        deal_id -> Uuid,
        person_id -> Uuid,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    customers_deal_companies (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        deal_id -> Uuid,
        company_id -> Uuid,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(
    customers_pipelines,
    customers_pipeline_stages,
    customers_companies,
    customers_people,
    customers_deals,
    customers_deal_people,
    customers_deal_companies,
);
