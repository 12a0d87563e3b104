//! Tables of this module.

use diesel::{allow_tables_to_appear_in_same_query, table};

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
        is_confirmed -> Bool,
        last_login_at -> Nullable<Timestamptz>,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_roles (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        name -> Text,
        name_norm -> Text,
        seeded_as -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_user_roles (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        role_tenant_id -> Uuid,
        role_id -> Uuid,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_role_acls (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        role_id -> Uuid,
        is_super_admin -> Bool,
        features -> Array<Text>,
        organizations -> Nullable<Array<Uuid>>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_user_acls (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        is_super_admin -> Bool,
        features -> Array<Text>,
        organizations -> Nullable<Array<Uuid>>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_default_grants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        role_id -> Uuid,
        feature -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_sessions (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        token_hash -> Bytea,
        is_remembered -> Bool,
        expires_at -> Timestamptz,
        last_used_at -> Nullable<Timestamptz>,
        ended_at -> Nullable<Timestamptz>,
        end_reason -> Nullable<Text>,
        ip -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_sidebar_preferences (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        locale -> Text,
        settings -> Jsonb,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_role_sidebar_preferences (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        role_tenant_id -> Uuid,
        role_id -> Uuid,
        locale -> Text,
        settings -> Jsonb,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_sidebar_variants (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        locale -> Text,
        name -> Text,
        name_norm -> Text,
        settings -> Jsonb,
        is_active -> Bool,
        deleted_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_one_time_tokens (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        purpose -> Text,
        token_hash -> Bytea,
        expires_at -> Timestamptz,
        used_at -> Nullable<Timestamptz>,
        voided_at -> Nullable<Timestamptz>,
        sent_at -> Nullable<Timestamptz>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

table! {
    auth_consents (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        user_id -> Uuid,
        organization_id -> Nullable<Uuid>,
        consent_type -> Text,
        is_granted -> Bool,
        granted_at -> Nullable<Timestamptz>,
        withdrawn_at -> Nullable<Timestamptz>,
        source -> Nullable<Text>,
        ip_address -> Nullable<Text>,
        integrity -> Bytea,
        integrity_kid -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

allow_tables_to_appear_in_same_query!(
    auth_users,
    auth_roles,
    auth_user_roles,
    auth_role_acls,
    auth_user_acls,
    auth_default_grants,
    auth_sessions,
    auth_sidebar_preferences,
    auth_role_sidebar_preferences,
    auth_sidebar_variants,
);
