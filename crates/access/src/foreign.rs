//! The columns of tables of `auth` that this module reads.

use diesel::table;

table! {
    auth_roles (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name_norm -> Text,
    }
}

table! {
    auth_users (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        email -> Text,
        email_norm -> Text,
        name -> Nullable<Text>,
        password_hash -> Nullable<Text>,
        is_active -> Bool,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}
