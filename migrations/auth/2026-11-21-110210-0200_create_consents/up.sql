-- What a user agreed to or withdrew. The integrity code shows changes that did not come from this program.
create table auth_consents (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    organization_id uuid,
    consent_type text not null,
    is_granted boolean not null,
    granted_at timestamptz(3),
    withdrawn_at timestamptz(3),
    source text,
    ip_address text,
    integrity bytea not null,
    integrity_kid text not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint auth_consents_tenant_id_user_id_consent_type_key unique (tenant_id, user_id, consent_type),
    constraint auth_consents_tenant_id_user_id_fkey foreign key (tenant_id, user_id) references auth_users (tenant_id, id)
);

call app_secure_table('auth_consents');
