//! Columns of the table of users, which belongs to `auth`.

use diesel::{allow_tables_to_appear_in_same_query, table};

use crate::schema::devices_devices;

table! {
    auth_users (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        deleted_at -> Nullable<Timestamptz>,
    }
}

allow_tables_to_appear_in_same_query!(auth_users, devices_devices);
