//! The tables of the directory.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    directory_tenants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        is_active -> Bool,
        locales -> Nullable<Array<Text>>,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    directory_organizations (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        slug -> Text,
        parent_id -> Nullable<Uuid>,
        logo_url -> Nullable<Text>,
        is_active -> Bool,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(directory_tenants, directory_organizations);
