//! The tables.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    dispatch_job_sites (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        name -> Text,
        code -> Nullable<Text>,
        address -> Nullable<Text>,
        latitude -> Nullable<Double>,
        longitude -> Nullable<Double>,
        status -> Text,
        start_date -> Nullable<Date>,
        end_date_exclusive -> Nullable<Date>,
        notes -> Nullable<Text>,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    dispatch_resources (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        #[sql_name = "type"]
        type_ -> Text,
        name -> Text,
        code -> Nullable<Text>,
        user_id -> Nullable<Uuid>,
        is_active -> Bool,
        notes -> Nullable<Text>,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    dispatch_assignments (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        job_site_id -> Uuid,
        subject_type -> Text,
        subject_id -> Uuid,
        start_at -> Timestamptz,
        end_at -> Timestamptz,
        start_date -> Nullable<Date>,
        end_date_exclusive -> Nullable<Date>,
        status -> Text,
        note -> Nullable<Text>,
        reminded_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(dispatch_assignments, dispatch_job_sites, dispatch_resources);
