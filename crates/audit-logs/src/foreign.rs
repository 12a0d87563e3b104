//! The columns of tables of core and of the directory that this module reads.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    audit_action_logs (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        actor_kind -> Text,
        actor_id -> Nullable<Uuid>,
        actor_name -> Nullable<Text>,
        command_id -> Text,
        action_type -> Text,
        action_label -> Text,
        source -> Text,
        resource_kind -> Nullable<Text>,
        resource_id -> Nullable<Text>,
        parent_resource_kind -> Nullable<Text>,
        parent_resource_id -> Nullable<Text>,
        related -> Array<Text>,
        execution_state -> Text,
        version_after -> Nullable<BigInt>,
        undo_secret -> Nullable<Bytea>,
        undo_expires_at -> Nullable<Timestamptz>,
        source_log_id -> Nullable<Uuid>,
        snapshot_before -> Nullable<Jsonb>,
        snapshot_after -> Nullable<Jsonb>,
        changes -> Nullable<Jsonb>,
        context -> Nullable<Jsonb>,
        changed_fields -> Array<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    audit_access_logs (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        actor_kind -> Text,
        actor_id -> Nullable<Uuid>,
        actor_name -> Nullable<Text>,
        resource_kind -> Text,
        resource_id -> Text,
        access_type -> Text,
        fields -> Array<Text>,
        context -> Nullable<Jsonb>,
        created_at -> Timestamptz,
    }
}

table! {
    audit_entry_counts (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
    }
}

table! {
    directory_tenants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        deleted_at -> Nullable<Timestamptz>,
    }
}

table! {
    directory_organizations (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        deleted_at -> Nullable<Timestamptz>,
    }
}

allow_tables_to_appear_in_same_query!(
    audit_access_logs,
    audit_action_logs,
    directory_tenants,
    directory_organizations
);
