//! The tables.

use diesel::table;

table! {
    alerts_alerts (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        kind -> Text,
        family -> Text,
        urgency_rank -> SmallInt,
        subject_type -> Text,
        subject_id -> Uuid,
        subject_name -> Text,
        identity_key -> Text,
        window_id -> Nullable<Uuid>,
        job_site_id -> Nullable<Uuid>,
        occurred_at -> Timestamptz,
        expires_at -> Timestamptz,
        resolved_at -> Nullable<Timestamptz>,
        acknowledged_at -> Nullable<Timestamptz>,
        acknowledged_by -> Nullable<Uuid>,
        acknowledgement -> Nullable<Text>,
        escalated_at -> Nullable<Timestamptz>,
        single_site_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}
