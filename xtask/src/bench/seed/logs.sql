-- Every entry changes the name of a role; ten roles share the entries of a hundred. One of 20 users is the actor.
insert into audit_action_logs
    (tenant_id, id, seq, organization_id, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source, resource_kind,
     resource_id, related, execution_state, version_before, version_after, undo_secret, snapshot_before, snapshot_after, changes, context,
     changed_fields, request_id, created_at, updated_at)
select '{tenant}', bench.log_id(48, n), 1000 + n, null, 'user', bench.id(3, n % 20 + 1), 'User ' || n % 20 + 1, 'auth.role.update',
    'edit', 'Update role', 'ui', 'auth.role', bench.id(2, n % ({rows} / 10) + 1)::text, '{}', 'done', n / ({rows} / 10), n / ({rows} / 10) + 1,
    sha256(n::text::bytea), '{"name": "before"}', '{"name": "after"}', '{"name": {"from": "before", "to": "after"}}',
    '{"requestId": "bench"}', '{name}', 'bench', bench.logged_at(n), bench.logged_at(n)
from generate_series(1, {rows}) n;

insert into audit_resource_versions
    (tenant_id, id, resource_kind, resource_id, version, max_version, last_log_id, created_at, updated_at)
select '{tenant}', bench.log_id(48, n), 'auth.role', bench.id(2, n % ({rows} / 10) + 1)::text, n / ({rows} / 10) + 1, n / ({rows} / 10) + 1,
    bench.log_id(48, n), bench.logged_at(n), bench.logged_at(n)
from generate_series({rows} - {rows} / 10 + 1, {rows}) n;

update core_event_streams set last_seq = last_seq + 1000 + {rows} where tenant_id = '{tenant}' and name = 'log';

insert into audit_access_logs
    (tenant_id, id, actor_kind, actor_id, actor_name, resource_kind, resource_id, access_type, fields, created_at)
select '{tenant}', bench.log_id(49, n), 'user', bench.id(3, n % 20 + 1), 'User ' || n % 20 + 1, 'auth.user', bench.id(3, n)::text, 'read:list',
    '{email,name}', bench.logged_at(n)
from generate_series(1, {rows}) n;

insert into progress_jobs
    (tenant_id, id, job_type, name, status, total_count, processed_count, succeeded_count, skipped_count, failed_count, cancellable, actor_kind,
     actor_id, actor_name, started_at, finished_at, parameters, created_at, updated_at)
select '{tenant}', bench.id(50, n), 'customers.deal.bulk_update_owner', 'Change the owner', 'completed', 1, 1, 1, 0, 0, false, 'user',
    bench.id(3, n % 20 + 1), 'User ' || n % 20 + 1, at, at, '{}', at, at
from generate_series(1, {rows}) n,
    -- All of them younger than 30 days: nothing is cleaned up while the bench runs.
    lateral (select now() - make_interval(secs => n * 2) as at) recent;
