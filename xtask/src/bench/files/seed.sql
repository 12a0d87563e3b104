-- Replaces the files of the tenant. Each has one of 100 tags, and each record has ten files. Triggers would write the counters row by row.
set session_replication_role = replica;
create temporary table place as
select tenant_id, id as organization_id from directory_organizations where id = '{organization}';
delete from attachments_tags where tenant_id = (select tenant_id from place);
delete from attachments_counts where tenant_id = (select tenant_id from place);
delete from attachments_usage where tenant_id = (select tenant_id from place);
delete from attachments_attachments where tenant_id = (select tenant_id from place);

insert into attachments_attachments
    (tenant_id, id, organization_id, entity_id, record_id, partition_tenant_id, partition_id, store_id, storage_key, file_name, mime_type,
     file_size, sha256, is_utf8, content_state, tags, assignments, custom_fields, created_at, updated_at)
select p.tenant_id, i.id, p.organization_id, 'bench.record', 'record-' || n / 10, '00000000-0000-0000-0000-000000000000',
    '019aae00-0000-7000-8000-000000000002', '019aae00-0000-7000-8000-000000000002', 'bench/' || n, 'file-' || n || '.bin',
    'application/octet-stream', 1000, sha256('x'), false, 'none', array['tag-' || n % 100], '[]', '{}',
    '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 second', '2026-01-01T00:00:00Z'::timestamptz + n * interval '1 second'
from place p cross join generate_series(1, {files}) n
cross join lateral (select ('019aae10-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id) i;

insert into attachments_tags (tenant_id, id, organization_id, attachment_id, tag, created_at, updated_at)
select a.tenant_id, a.id, a.organization_id, a.id, a.tags[1], a.created_at, a.updated_at
from attachments_attachments a where a.tenant_id = (select tenant_id from place);

insert into attachments_counts (tenant_id, id, file_count, created_at, updated_at)
select tenant_id, organization_id, {files}, now(), now() from place;
insert into attachments_usage (tenant_id, id, used_bytes, created_at, updated_at)
select tenant_id, tenant_id, {files}::bigint * 1000, now(), now() from place;
drop table place;
reset session_replication_role;
