-- Entries about partitions name the settings as the API does. Undo and redo compare the snapshots of an entry with the present ones, field by field, so
-- entries of earlier releases get the name too. Partitions are in the entries of no other kind.
set local app.scope = 'system';

update audit_action_logs
set
    snapshot_before = case when snapshot_before ? 'config'
        then (snapshot_before - 'config') || jsonb_build_object('configJson', snapshot_before -> 'config') else snapshot_before end,
    snapshot_after = case when snapshot_after ? 'config'
        then (snapshot_after - 'config') || jsonb_build_object('configJson', snapshot_after -> 'config') else snapshot_after end,
    changes = case when changes ? 'config'
        then (changes - 'config') || jsonb_build_object('configJson', changes -> 'config') else changes end,
    changed_fields = array_replace(changed_fields, 'config', 'configJson')
where resource_kind = 'attachments.partition';

set local app.scope = '';
