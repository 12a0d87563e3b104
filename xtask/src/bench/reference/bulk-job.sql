-- Another owner for the first 100 deals, with the versions, entries and events of each: one statement.
with chosen as (
    select id, row_number() over (order by id) as number, bench.new_id() as log_id
    from (select id from customers_deals where tenant_id = :tenant order by id limit 100) d
), changed as (
    update customers_deals d set owner_user_id = case when owner_user_id = :user then null else :user::uuid end, updated_at = now()
    from chosen c where d.tenant_id = :tenant and d.id = c.id
    returning d.id, d.organization_id, c.number, c.log_id, to_jsonb(d) as after
), moved as (
    insert into audit_resource_versions as v
        (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
    select :tenant::uuid, log_id, 'customers.deal', id::text, 1, 1, log_id, now(), now() from changed
    on conflict (tenant_id, resource_kind, resource_id) do update set
        version = v.max_version + 1, max_version = v.max_version + 1, last_log_id = excluded.last_log_id, updated_at = now()
    returning version, last_log_id
), stream as (
    update core_event_streams set last_seq = last_seq + 200, updated_at = now() 
    where tenant_id = :tenant and name = 'log' and (select count(*) from moved) > 0
    returning last_seq - 200 as seq
), entry as (
    insert into audit_action_logs
        (tenant_id, id, seq, organization_id, actor_kind, actor_id, command_id, action_type, action_label, source, resource_kind, resource_id,
         related, execution_state, version_before, version_after, undo_secret, snapshot_before, snapshot_after, changes, changed_fields,
         created_at, updated_at)
    select :tenant::uuid, c.log_id, stream.seq + c.number, c.organization_id, 'user', :user::uuid, 'customers.deal.assign_owner', 'assign',
        'Assign deal owner', 'job', 'customers.deal', c.id::text, '{}', 'done', moved.version - 1, moved.version, sha256(c.id::text::bytea),
        c.after, c.after, '{"ownerUserId": {}}', '{ownerUserId}', now(), now()
    from changed c join moved on moved.last_log_id = c.log_id, stream
)
insert into core_outbox_events (tenant_id, id, seq, organization_id, name, payload, browser, log_id, occurred_at, created_at, updated_at)
select :tenant::uuid, bench.new_id(), stream.seq + 100 + c.number, c.organization_id, 'customers.deal.updated', jsonb_build_object('id', c.id), true,
    c.log_id, now(), now(), now()
from changed c, stream;
