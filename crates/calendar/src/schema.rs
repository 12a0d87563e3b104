//! The tables.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    calendar_reasons (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        resource_type -> Text,
        code -> Text,
        label -> Text,
        sort_order -> Integer,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    calendar_working_calendars (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        time_zone -> Text,
        off_weekdays -> Array<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    calendar_holidays (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        calendar_id -> Uuid,
        date -> Date,
        name -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    calendar_series (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        resource_type -> Text,
        resource_id -> Uuid,
        start_date -> Date,
        end_date_exclusive -> Date,
        named_start_date -> Nullable<Date>,
        rrule -> Text,
        ends_on -> Nullable<Date>,
        exdates -> Array<Date>,
        effective_from -> Date,
        reason_code -> Text,
        note -> Nullable<Text>,
        created_until -> Date,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    calendar_windows (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        resource_type -> Text,
        resource_id -> Uuid,
        start_date -> Date,
        end_date_exclusive -> Date,
        start_at -> Timestamptz,
        end_at -> Timestamptz,
        reason_code -> Text,
        note -> Nullable<Text>,
        series_id -> Nullable<Uuid>,
        series_date -> Nullable<Date>,
        is_exception -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    calendar_feeds (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        user_tenant_id -> Nullable<Uuid>,
        user_id -> Uuid,
        name -> Text,
        token_hash -> Bytea,
        filter -> Jsonb,
        last_used_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(calendar_working_calendars, calendar_holidays);
allow_tables_to_appear_in_same_query!(calendar_series, calendar_windows);
