//! The tables of this module.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    progress_jobs (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        job_type -> Text,
        name -> Text,
        description -> Nullable<Text>,
        status -> Text,
        total_count -> Integer,
        processed_count -> Integer,
        succeeded_count -> Integer,
        skipped_count -> Integer,
        failed_count -> Integer,
        cancellable -> Bool,
        cancel_requested_at -> Nullable<Timestamptz>,
        cancelled_by -> Nullable<Uuid>,
        actor_kind -> Text,
        actor_id -> Nullable<Uuid>,
        actor_name -> Nullable<Text>,
        started_at -> Nullable<Timestamptz>,
        heartbeat_at -> Nullable<Timestamptz>,
        finished_at -> Nullable<Timestamptz>,
        error_message -> Nullable<Text>,
        meta -> Nullable<Jsonb>,
        parameters -> Jsonb,
        careful_until -> Integer,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    progress_job_items (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        job_id -> Uuid,
        position -> Integer,
        resource_kind -> Text,
        resource_id -> Uuid,
        state -> Text,
        log_id -> Nullable<Uuid>,
        error_status -> Nullable<SmallInt>,
        error_code -> Nullable<Text>,
        error_message -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(progress_jobs, progress_job_items);
