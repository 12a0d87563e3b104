//! The tables of this module.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    attachments_stores (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        driver -> Text,
        config -> Jsonb,
        credentials -> Nullable<Binary>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    attachments_partitions (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        code -> Text,
        title -> Text,
        description -> Nullable<Text>,
        is_public -> Bool,
        requires_ocr -> Bool,
        ocr_model -> Nullable<Text>,
        storage_driver -> Text,
        config -> Nullable<Jsonb>,
        store_id -> Uuid,
        credentials_version -> Integer,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    attachments_attachments (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        entity_id -> Text,
        record_id -> Text,
        field_key -> Nullable<Text>,
        partition_tenant_id -> Uuid,
        partition_id -> Uuid,
        store_id -> Uuid,
        storage_key -> Text,
        file_name -> Text,
        mime_type -> Text,
        file_size -> BigInt,
        sha256 -> Binary,
        is_utf8 -> Bool,
        image_format -> Nullable<Text>,
        image_width -> Nullable<Integer>,
        image_height -> Nullable<Integer>,
        content -> Nullable<Text>,
        content_rest -> Nullable<Text>,
        content_state -> Text,
        tags -> Array<Text>,
        assignments -> Jsonb,
        custom_fields -> Jsonb,
        uploaded_by -> Nullable<Uuid>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
        absent_since -> Nullable<Timestamptz>,
    }
}

table! {
    attachments_tags (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Uuid,
        attachment_id -> Uuid,
        tag -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    attachments_fields (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        entity_id -> Text,
        field_key -> Text,
        accept_extensions -> Nullable<Array<Text>>,
        max_bytes -> Nullable<BigInt>,
        max_count -> Nullable<Integer>,
        partition_tenant_id -> Nullable<Uuid>,
        partition_id -> Nullable<Uuid>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    attachments_usage (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        used_bytes -> BigInt,
        quota -> Nullable<BigInt>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    attachments_links (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        attachment_id -> Uuid,
        token_hash -> Binary,
        expires_at -> Timestamptz,
        max_downloads -> Nullable<Integer>,
        downloads -> Integer,
        last_used_at -> Nullable<Timestamptz>,
        revoked_at -> Nullable<Timestamptz>,
        creator_kind -> Text,
        creator_tenant_id -> Uuid,
        created_by -> Nullable<Uuid>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    attachments_staged (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        store_tenant_id -> Uuid,
        store_id -> Uuid,
        storage_key -> Text,
        upload_id -> Nullable<Text>,
        expires_at -> Timestamptz,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(
    attachments_attachments,
    attachments_links,
    attachments_partitions,
    attachments_stores,
    attachments_tags,
);
