-- Where files lie. A store is immutable, so that files stay where they were stored when their partition changes.
create table attachments_stores (
    tenant_id uuid not null,
    id uuid not null,
    driver text not null,
    config jsonb not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_stores_driver_check check (driver in ('local'))
);

create table attachments_partitions (
    tenant_id uuid not null,
    id uuid not null,
    code text not null,
    title text not null,
    description text,
    is_public boolean not null,
    requires_ocr boolean not null,
    ocr_model text,
    storage_driver text not null,
    config jsonb,
    store_id uuid not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_partitions_tenant_id_store_id_fkey
        foreign key (tenant_id, store_id) references attachments_stores (tenant_id, id)
);
create unique index attachments_partitions_tenant_id_code_key on attachments_partitions (tenant_id, lower(code));

-- A partition belongs to the tenant of the file, or to the platform. `content` has the first 20,000 characters of the text, which lists show, and
-- `content_rest` the others.
create table attachments_attachments (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    entity_id text not null,
    record_id text not null,
    field_key text,
    partition_tenant_id uuid not null,
    partition_id uuid not null,
    store_id uuid not null,
    storage_key text not null,
    file_name text not null,
    mime_type text not null,
    file_size bigint not null,
    sha256 bytea not null,
    is_utf8 boolean not null,
    image_format text,
    image_width integer,
    image_height integer,
    content text,
    content_rest text,
    content_state text not null,
    tags text[] not null,
    assignments jsonb not null,
    custom_fields jsonb not null,
    uploaded_by uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_attachments_tenant_id_store_id_storage_key_key unique (tenant_id, store_id, storage_key),
    constraint attachments_attachments_partition_check
        check (partition_tenant_id in (tenant_id, '00000000-0000-0000-0000-000000000000')),
    constraint attachments_attachments_file_size_check check (file_size > 0),
    constraint attachments_attachments_sha256_check check (octet_length(sha256) = 32),
    constraint attachments_attachments_content_state_check check (content_state in ('none', 'pending', 'done', 'failed')),
    constraint attachments_attachments_partition_tenant_id_partition_id_fkey
        foreign key (partition_tenant_id, partition_id) references attachments_partitions (tenant_id, id),
    constraint attachments_attachments_partition_tenant_id_store_id_fkey
        foreign key (partition_tenant_id, store_id) references attachments_stores (tenant_id, id)
);
create index attachments_attachments_tenant_id_record_idx
    on attachments_attachments (tenant_id, entity_id, record_id, created_at desc, id desc);
create index attachments_attachments_tenant_id_created_at_idx on attachments_attachments (tenant_id, created_at desc, id desc);
create index attachments_attachments_tenant_id_organization_id_idx
    on attachments_attachments (tenant_id, organization_id, created_at desc, id desc);
create index attachments_attachments_tenant_id_file_name_idx on attachments_attachments (tenant_id, file_name, id);
create index attachments_attachments_tenant_id_file_size_idx on attachments_attachments (tenant_id, file_size, id);
create index attachments_attachments_partition_idx on attachments_attachments (partition_tenant_id, partition_id);
-- The address of a file names only its id.
create index attachments_attachments_id_idx on attachments_attachments (id);

-- The tags of files once more, in an order in which they are found. Triggers write the rows.
create table attachments_tags (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid not null,
    attachment_id uuid not null,
    tag text collate "C" not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_tags_tenant_id_attachment_id_tag_key unique (tenant_id, attachment_id, tag),
    constraint attachments_tags_tenant_id_attachment_id_fkey
        foreign key (tenant_id, attachment_id) references attachments_attachments (tenant_id, id) on delete cascade
);
create index attachments_tags_tenant_id_tag_idx on attachments_tags (tenant_id, tag, organization_id, attachment_id);

-- The number of files of an organization, whose id the row has. Triggers write the rows.
create table attachments_counts (
    tenant_id uuid not null,
    id uuid not null,
    file_count bigint not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_counts_file_count_check check (file_count >= 0)
);

-- The bytes of all files of a tenant, whose id the row has. Triggers write `used_bytes`.
create table attachments_usage (
    tenant_id uuid not null,
    id uuid not null,
    used_bytes bigint not null,
    quota bigint,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_usage_used_bytes_check check (used_bytes >= 0)
);

-- Constraints of the files of a field of records, or with the key `*` of all files of a kind of records.
create table attachments_fields (
    tenant_id uuid not null,
    id uuid not null,
    entity_id text not null,
    field_key text not null,
    accept_extensions text[],
    max_bytes bigint,
    max_count integer,
    partition_tenant_id uuid,
    partition_id uuid,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint attachments_fields_tenant_id_entity_id_field_key_key unique (tenant_id, entity_id, field_key),
    constraint attachments_fields_partition_check
        check (partition_tenant_id in (tenant_id, '00000000-0000-0000-0000-000000000000')),
    constraint attachments_fields_partition_tenant_id_partition_id_fkey
        foreign key (partition_tenant_id, partition_id) references attachments_partitions (tenant_id, id)
);
create index attachments_fields_partition_idx on attachments_fields (partition_tenant_id, partition_id);

-- Stored objects to which no file refers: not yet, or no more. After `expires_at` the object is removed, then the row.
create table attachments_staged (
    tenant_id uuid not null,
    id uuid not null,
    store_tenant_id uuid not null,
    store_id uuid not null,
    storage_key text not null,
    expires_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id)
);
create index attachments_staged_expires_at_idx on attachments_staged (expires_at);

call app_secure_table('attachments_stores');
call app_secure_table('attachments_partitions');
call app_secure_table('attachments_attachments');
call app_secure_table('attachments_tags');
call app_secure_table('attachments_counts');
call app_secure_table('attachments_usage');
call app_secure_table('attachments_fields');
call app_secure_table('attachments_staged');
create policy global_rows on attachments_stores for select using (tenant_id = '00000000-0000-0000-0000-000000000000');
create policy global_rows on attachments_partitions for select using (tenant_id = '00000000-0000-0000-0000-000000000000');

-- Counts files and bytes. Rows of organizations are changed in the order of their keys, the row of the tenant last, so that concurrent statements
-- wait for each other and none for itself.
create function attachments_count() returns trigger
language plpgsql
as $$
begin
    if tg_op = 'INSERT' then
        insert into attachments_counts as c (tenant_id, id, file_count, created_at, updated_at)
        select a.tenant_id, a.organization_id, count(*), min(a.created_at), max(a.updated_at)
        from added a group by a.tenant_id, a.organization_id order by a.tenant_id, a.organization_id
        on conflict (tenant_id, id) do update set file_count = c.file_count + excluded.file_count, updated_at = excluded.updated_at;
        insert into attachments_usage as u (tenant_id, id, used_bytes, created_at, updated_at)
        select a.tenant_id, a.tenant_id, sum(a.file_size), min(a.created_at), max(a.updated_at)
        from added a group by a.tenant_id order by a.tenant_id
        on conflict (tenant_id, id) do update set used_bytes = u.used_bytes + excluded.used_bytes, updated_at = excluded.updated_at;
    elsif tg_op = 'DELETE' then
        perform from attachments_counts c
        where (c.tenant_id, c.id) in (select r.tenant_id, r.organization_id from removed r) order by c.tenant_id, c.id for update;
        update attachments_counts c set file_count = c.file_count - d.files
        from (select r.tenant_id, r.organization_id, count(*) as files from removed r group by r.tenant_id, r.organization_id) d
        where c.tenant_id = d.tenant_id and c.id = d.organization_id;
        perform from attachments_usage u
        where u.tenant_id in (select r.tenant_id from removed r) order by u.tenant_id for update;
        update attachments_usage u set used_bytes = u.used_bytes - d.bytes
        from (select r.tenant_id, sum(r.file_size) as bytes from removed r group by r.tenant_id) d
        where u.tenant_id = d.tenant_id and u.id = d.tenant_id;
    elsif exists (
        select from added a join removed r on r.tenant_id = a.tenant_id and r.id = a.id where a.organization_id <> r.organization_id
    ) then
        perform from attachments_counts c
        where (c.tenant_id, c.id) in (
            select r.tenant_id, r.organization_id from removed r union select a.tenant_id, a.organization_id from added a)
        order by c.tenant_id, c.id for update;
        update attachments_counts c set file_count = c.file_count - d.files
        from (select r.tenant_id, r.organization_id, count(*) as files from removed r group by r.tenant_id, r.organization_id) d
        where c.tenant_id = d.tenant_id and c.id = d.organization_id;
        insert into attachments_counts as c (tenant_id, id, file_count, created_at, updated_at)
        select a.tenant_id, a.organization_id, count(*), min(a.created_at), max(a.updated_at)
        from added a group by a.tenant_id, a.organization_id order by a.tenant_id, a.organization_id
        on conflict (tenant_id, id) do update set file_count = c.file_count + excluded.file_count, updated_at = excluded.updated_at;
    end if;
    return null;
end
$$;
create trigger attachments_count_added after insert on attachments_attachments
    referencing new table as added for each statement execute function attachments_count();
create trigger attachments_count_changed after update on attachments_attachments
    referencing old table as removed new table as added for each statement execute function attachments_count();
create trigger attachments_count_removed after delete on attachments_attachments
    referencing old table as removed for each statement execute function attachments_count();

create function attachments_tag() returns trigger
language plpgsql
as $$
begin
    delete from attachments_tags t
    where t.tenant_id = new.tenant_id and t.attachment_id = new.id and t.tag <> all (new.tags);
    insert into attachments_tags (tenant_id, id, organization_id, attachment_id, tag, created_at, updated_at)
    select new.tenant_id, (substr(new.id::text, 1, 14) || '7' || substr(md5(new.id::text || t.tag)::uuid::text, 16))::uuid,
        new.organization_id, new.id, t.tag, new.created_at, new.updated_at
    from unnest(new.tags) as t (tag)
    on conflict (tenant_id, id) do update set organization_id = excluded.organization_id, updated_at = excluded.updated_at;
    return null;
end
$$;
create trigger attachments_tag_added after insert on attachments_attachments
    for each row when (cardinality(new.tags) > 0) execute function attachments_tag();
create trigger attachments_tag_changed after update on attachments_attachments
    for each row when (old.tags is distinct from new.tags or old.organization_id <> new.organization_id) execute function attachments_tag();

call app_search_table('attachments_attachments', 'attachments.attachment', 'id', 'file_name');

-- The partitions that every tenant has.
do $$
declare
    one text;
begin
    foreach one in array array['attachments_count', 'attachments_tag']
    loop
        execute format('alter function %I() set search_path = pg_catalog, %I, pg_temp', one, current_schema());
    end loop;
    perform set_config('app.scope', 'system', true);
    insert into attachments_stores (tenant_id, id, driver, config, created_at, updated_at)
    values
        ('00000000-0000-0000-0000-000000000000', '019aae00-0000-7000-8000-000000000001', 'local', '{"code": "productsMedia"}', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'),
        ('00000000-0000-0000-0000-000000000000', '019aae00-0000-7000-8000-000000000002', 'local', '{"code": "privateAttachments"}', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z');
    insert into attachments_partitions
        (tenant_id, id, code, title, description, is_public, requires_ocr, ocr_model, storage_driver, config, store_id, created_at, updated_at)
    values
        ('00000000-0000-0000-0000-000000000000', '019aae00-0000-7000-8000-000000000001', 'productsMedia', 'Product media', null, true, false,
            null, 'local', null, '019aae00-0000-7000-8000-000000000001', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z'),
        ('00000000-0000-0000-0000-000000000000', '019aae00-0000-7000-8000-000000000002', 'privateAttachments', 'Private attachments', null,
            false, false, null, 'local', null, '019aae00-0000-7000-8000-000000000002', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z');
    perform set_config('app.scope', '', true);
end
$$;
