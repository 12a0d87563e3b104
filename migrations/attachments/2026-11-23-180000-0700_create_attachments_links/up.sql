-- Links to files for people without an account. Of the token of a link only the hash is stored.
create table attachments_links (
    tenant_id uuid not null,
    id uuid not null,
    attachment_id uuid not null,
    token_hash bytea not null,
    expires_at timestamptz(3) not null,
    max_downloads integer,
    downloads integer not null,
    last_used_at timestamptz(3),
    revoked_at timestamptz(3),
    creator_kind text not null,
    creator_tenant_id uuid not null,
    created_by uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_links_tenant_id_token_hash_key unique (tenant_id, token_hash),
    constraint attachments_links_token_hash_check check (octet_length(token_hash) = 32),
    constraint attachments_links_max_downloads_check check (max_downloads > 0),
    constraint attachments_links_downloads_check check (downloads >= 0),
    constraint attachments_links_tenant_id_attachment_id_fkey
        foreign key (tenant_id, attachment_id) references attachments_attachments (tenant_id, id) on delete cascade
);
create index attachments_links_tenant_id_attachment_id_idx on attachments_links (tenant_id, attachment_id, created_at desc, id desc);
-- The address of a link names only its token.
create index attachments_links_token_hash_idx on attachments_links (token_hash);
create index attachments_links_expires_at_idx on attachments_links (expires_at);
call app_secure_table('attachments_links');
