//! Columns of the table of users, which belongs to `auth`.

diesel::table! {
    auth_users (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        deleted_at -> Nullable<Timestamptz>,
    }
}
