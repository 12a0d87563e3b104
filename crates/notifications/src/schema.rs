//! Tables of this module.

use diesel::table;

table! {
    notifications_notifications (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        recipient_user_id -> Uuid,
        #[sql_name = "type"]
        type_ -> Text,
        params -> Jsonb,
        title -> Text,
        body -> Text,
        severity -> Text,
        source_module -> Text,
        source_entity_type -> Nullable<Text>,
        source_entity_id -> Nullable<Uuid>,
        link_href -> Nullable<Text>,
        group_key -> Nullable<Text>,
        status -> Text,
        read_at -> Nullable<Timestamptz>,
        dismissed_at -> Nullable<Timestamptz>,
        email_sent_at -> Nullable<Timestamptz>,
        expires_at -> Timestamptz,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    notifications_preferences (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        #[sql_name = "type"]
        type_ -> Text,
        in_app -> Bool,
        push -> Bool,
        email -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}
