//! Tables of this module.

diesel::table! {
    devices_devices (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        organization_id -> Nullable<Uuid>,
        device_id -> Text,
        platform -> Text,
        client_app_version -> Nullable<Text>,
        os_version -> Nullable<Text>,
        locale -> Nullable<Text>,
        push_provider -> Nullable<Text>,
        push_token -> Nullable<Binary>,
        push_token_hash -> Nullable<Binary>,
        push_token_updated_at -> Nullable<Timestamptz>,
        push_key -> Nullable<Text>,
        last_seen_at -> Nullable<Timestamptz>,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}
