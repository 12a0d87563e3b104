//! Tables of this module.

diesel::table! {
    onboarding_requests (tenant_id, id) {
        tenant_id -> Uuid,
        id -> Uuid,
        kind -> Text,
        status -> Text,
        email -> Nullable<Binary>,
        email_hash -> Nullable<Binary>,
        first_name -> Text,
        last_name -> Text,
        organization_name -> Text,
        password_hash -> Nullable<Text>,
        locale -> Text,
        marketing_consent -> Bool,
        terms_accepted_at -> Timestamptz,
        token_hash -> Nullable<Binary>,
        status_token_hash -> Nullable<Binary>,
        expires_at -> Timestamptz,
        verified_at -> Nullable<Timestamptz>,
        ended_at -> Nullable<Timestamptz>,
        wrong_passwords -> Integer,
        provisioning_job_id -> Nullable<Uuid>,
        new_tenant_id -> Nullable<Uuid>,
        new_user_id -> Nullable<Uuid>,
        email_sent_at -> Nullable<Timestamptz>,
        ready_email_sent_at -> Nullable<Timestamptz>,
        client_ip -> Nullable<Text>,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}
