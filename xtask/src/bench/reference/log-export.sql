-- The latest 1000 entries with what the file contains of them.
select id, organization_id, actor_kind, actor_id, actor_name, command_id, action_type, action_label, source, resource_kind, resource_id,
    changes, created_at
from audit_action_logs where tenant_id = :tenant and id < :future order by id desc limit 1000;
