//! The tables.

use diesel::{allow_tables_to_appear_in_same_query, table};

table! {
    business_rules_rules (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        rule_key -> Text,
        rule_name -> Text,
        description -> Nullable<Text>,
        rule_type -> Text,
        rule_category -> Nullable<Text>,
        entity_type -> Text,
        event_type -> Nullable<Text>,
        condition_expression -> Nullable<Jsonb>,
        success_actions -> Jsonb,
        failure_actions -> Jsonb,
        enabled -> Bool,
        priority -> Integer,
        version -> Integer,
        effective_from -> Nullable<Timestamptz>,
        effective_to -> Nullable<Timestamptz>,
        effect_features -> Array<Text>,
        created_by -> Nullable<Uuid>,
        updated_by -> Nullable<Uuid>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_sets (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        set_key -> Text,
        set_name -> Text,
        description -> Nullable<Text>,
        enabled -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_set_members (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        set_id -> Uuid,
        rule_id -> Uuid,
        sequence -> Integer,
        enabled -> Bool,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_runs (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        entity_type -> Text,
        entity_id -> Text,
        event_type -> Nullable<Text>,
        allowed -> Bool,
        executed_rules -> Integer,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_execution_logs (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        run_id -> Uuid,
        rule_id -> Uuid,
        rule_key -> Text,
        rule_name -> Text,
        rule_type -> Text,
        entity_type -> Text,
        entity_id -> Text,
        execution_result -> Text,
        input_context -> Nullable<Jsonb>,
        output_context -> Nullable<Jsonb>,
        error_message -> Nullable<Text>,
        execution_time_ms -> Integer,
        executed_at -> Timestamptz,
        executed_by -> Nullable<Uuid>,
        trigger -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_header_values (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        value -> Binary,
        unused_since -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_webhook_secrets (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        secret -> Nullable<Binary>,
        last4 -> Text,
        revoked_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    business_rules_webhook_deliveries (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        organization_id -> Nullable<Uuid>,
        rule_id -> Uuid,
        run_id -> Uuid,
        batch_id -> Uuid,
        url -> Text,
        method -> Text,
        headers -> Jsonb,
        body -> Text,
        status -> Text,
        attempts -> Integer,
        next_attempt_at -> Timestamptz,
        response_status -> Nullable<Integer>,
        error -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(business_rules_rules, business_rules_sets, business_rules_set_members);
