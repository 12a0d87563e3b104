select id from customers_deals where tenant_id = '{tenant}' and id = ('{number}-0000-7000-8000-' || lpad(to_hex(:deal::int), 12, '0'))::uuid for update;
select * from customers_deals where tenant_id = '{tenant}' and id = ('{number}-0000-7000-8000-' || lpad(to_hex(:deal::int), 12, '0'))::uuid;
update customers_deals set owner_user_id = '{owner}', updated_at = now() where tenant_id = '{tenant}' and id = ('{number}-0000-7000-8000-' || lpad(to_hex(:deal::int), 12, '0'))::uuid;
with given as (
    select gen_random_uuid() as id, ('{number}-0000-7000-8000-' || lpad(to_hex(:deal::int), 12, '0')) as deal
), moved as (
    insert into audit_resource_versions as v
        (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
    select '{tenant}', id, 'customers.deal', deal, 1, 1, id, now(), now() from given
    on conflict (tenant_id, resource_kind, resource_id) do update set
        version = v.max_version + 1, max_version = v.max_version + 1, last_log_id = excluded.last_log_id, updated_at = now()
    returning version
), stream as (
    insert into core_event_streams as s (tenant_id, id, name, last_seq, created_at, updated_at)
    select '{tenant}', id, 'log', 3, now(), now() from given
    on conflict (tenant_id, name) do update set last_seq = s.last_seq + 3, updated_at = now()
    returning last_seq - 3 as seq
), entry as (
    insert into audit_action_logs
        (tenant_id, id, seq, organization_id, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source,
         resource_kind, resource_id, related, execution_state, version_before, version_after, undo_secret,
         snapshot_before, snapshot_after, changes, context, changed_fields, request_id, created_at, updated_at)
    select '{tenant}', g.id, stream.seq + 1, d.organization_id, 'user', '{owner}', 'Caller', 'customers.deal.assign_owner', 'assign',
        'Assign deal owner', 'job', 'customers.deal', g.deal, array['progress.job:' || g.id], 'done', moved.version - 1, moved.version,
        sha256(g.deal::bytea), to_jsonb(d), to_jsonb(d), '{"ownerUserId": {"from": null, "to": null}}'::jsonb,
        jsonb_build_object('progressJobId', g.id), array['ownerUserId'], 'bench', now(), now()
    from given g, stream, moved, customers_deals d
    where d.tenant_id = '{tenant}' and d.id = ('{number}-0000-7000-8000-' || lpad(to_hex(:deal::int), 12, '0'))::uuid
), linked as (
    insert into audit_action_links (tenant_id, id, resource_kind, resource_id, log_id)
    select '{tenant}', gen_random_uuid(), 'progress.job', id::text, id from given
)
insert into core_outbox_events (tenant_id, id, seq, name, payload, browser, log_id, occurred_at, created_at, updated_at)
select '{tenant}', gen_random_uuid(), stream.seq + 1 + n, 'customers.deal.updated', jsonb_build_object('id', g.deal), true, g.id, now(), now(), now()
from given g, stream, generate_series(1, 2) n;
update progress_job_items set state = 'succeeded', updated_at = now() where tenant_id = '{tenant}' and job_id = '{job}' and position = :deal - 1;
