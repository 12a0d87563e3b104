//! Tables of this module.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    api_keys_keys (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        description -> Nullable<Text>,
        organization_id -> Nullable<Uuid>,
        key_prefix -> Text,
        key_hash -> Bytea,
        expires_at -> Nullable<Timestamptz>,
        last_used_at -> Nullable<Timestamptz>,
        created_by_kind -> Text,
        created_by_id -> Nullable<Uuid>,
        creator_keys -> Array<Uuid>,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    api_keys_key_roles (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        key_id -> Uuid,
        role_tenant_id -> Uuid,
        role_id -> Uuid,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(api_keys_keys, api_keys_key_roles);
