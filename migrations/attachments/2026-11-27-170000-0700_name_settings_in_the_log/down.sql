set local app.scope = 'system';

update audit_action_logs
set
    snapshot_before = case when snapshot_before ? 'configJson'
        then (snapshot_before - 'configJson') || jsonb_build_object('config', snapshot_before -> 'configJson') else snapshot_before end,
    snapshot_after = case when snapshot_after ? 'configJson'
        then (snapshot_after - 'configJson') || jsonb_build_object('config', snapshot_after -> 'configJson') else snapshot_after end,
    changes = case when changes ? 'configJson'
        then (changes - 'configJson') || jsonb_build_object('config', changes -> 'configJson') else changes end,
    changed_fields = array_replace(changed_fields, 'configJson', 'config')
where resource_kind = 'attachments.partition';

set local app.scope = '';
