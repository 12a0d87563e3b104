//! Tables of core, with the columns that the query builder reads.

use diesel::table;

table! {
    audit_action_logs (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        seq -> BigInt,
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
        touched -> Nullable<Jsonb>,
        execution_state -> Text,
        version_before -> Nullable<BigInt>,
        version_after -> Nullable<BigInt>,
        undo_secret -> Nullable<Bytea>,
        undo_expires_at -> Nullable<Timestamptz>,
        undone_seq -> Nullable<BigInt>,
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
    core_idempotency_keys (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        actor_kind -> Text,
        actor_id -> Uuid,
        route -> Text,
        key -> Text,
        body_hash -> Bytea,
        status -> SmallInt,
        headers -> Jsonb,
        body -> Jsonb,
        expires_at -> Timestamptz,
    }
}
