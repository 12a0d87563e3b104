-- The bare page: the latest 50 entries of an actor.
select id, organization_id, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source, resource_kind, resource_id,
    execution_state, snapshot_before, snapshot_after, changes, context, changed_fields, created_at, updated_at
from audit_action_logs where tenant_id = :tenant and actor_id = :actor and id < :future order by id desc limit 50;
