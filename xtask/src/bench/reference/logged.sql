-- Completes a change: the version of the resource, the commit number of the tenant, the entry of the action log and the event. The number is
-- taken from a row that all writers of the tenant share, so it comes after what can be done without its lock.
, moved as (
    insert into audit_resource_versions as v
        (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
    select :tenant::uuid, c.log_id, 'auth.role', c.id::text, 1, 1, c.log_id, now(), now() from changed c
    on conflict (tenant_id, resource_kind, resource_id) do update set
        version = v.max_version + 1, max_version = v.max_version + 1, last_log_id = excluded.last_log_id, updated_at = now()
    returning version, last_log_id as log_id
), stream as (
    update core_event_streams set last_seq = last_seq + 2, updated_at = now() 
    where tenant_id = :tenant and name = 'log' and (select count(*) from moved) > 0
    returning last_seq - 1 as seq
), entry as (
    insert into audit_action_logs
        (tenant_id, id, seq, actor_kind, actor_id, command_id, action_type, action_label, source, resource_kind, resource_id, related,
         execution_state, version_before, version_after, undo_secret, snapshot_before, snapshot_after, changes, changed_fields, created_at,
         updated_at)
    select :tenant::uuid, c.log_id, stream.seq, 'user', :user::uuid, c.command, c.class, 'Change a role', 'ui', 'auth.role', c.id::text, '{}', 'done',
        moved.version - 1, moved.version, sha256(c.log_id::text::bytea), c.before, c.after, '{"name": {}}', '{name}', now(), now()
    from changed c, moved, stream
)
insert into core_outbox_events (tenant_id, id, seq, name, payload, browser, log_id, occurred_at, created_at, updated_at)
select :tenant::uuid, bench.new_id(), stream.seq + 1, 'auth.role.changed', jsonb_build_object('id', c.id), true, c.log_id, now(), now(), now()
from changed c, stream;
