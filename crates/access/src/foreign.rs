//! The columns of tables of `auth` that this module reads.

use diesel::{allow_tables_to_appear_in_same_query, table};

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

table! {
    /// The users once more, for statements that select users among users.
    #[sql_name = "auth_users"]
    users_among (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        is_active -> Bool,
        deleted_at -> Nullable<Timestamptz>,
    }
}

allow_tables_to_appear_in_same_query!(auth_users, users_among);
