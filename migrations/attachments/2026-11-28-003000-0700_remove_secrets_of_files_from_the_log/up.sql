-- Entries of earlier releases contain the keys of objects and the digests of files, which are no fields of the API. Undo and redo don't read them.
-- Processes of an earlier release that ran after the migration `name_settings_in_the_log` wrote the former name of the settings of partitions.
set local app.scope = 'system';

update audit_action_logs
set
    snapshot_before = snapshot_before - array['storageKey', 'sha256', 'isUtf8'],
    snapshot_after = snapshot_after - array['storageKey', 'sha256', 'isUtf8'],
    changes = changes - array['storageKey', 'sha256', 'isUtf8'],
    changed_fields = array_remove(array_remove(array_remove(changed_fields, 'storageKey'), 'sha256'), 'isUtf8')
where resource_kind = 'attachments.attachment'
    and (coalesce(snapshot_before, '{}') ?| array['storageKey', 'sha256', 'isUtf8']
        or coalesce(snapshot_after, '{}') ?| array['storageKey', 'sha256', 'isUtf8']
        or coalesce(changes, '{}') ?| array['storageKey', 'sha256', 'isUtf8']);

update audit_action_logs
set
    snapshot_before = case when snapshot_before ? 'config'
        then (snapshot_before - 'config') || jsonb_build_object('configJson', snapshot_before -> 'config') else snapshot_before end,
    snapshot_after = case when snapshot_after ? 'config'
        then (snapshot_after - 'config') || jsonb_build_object('configJson', snapshot_after -> 'config') else snapshot_after end,
    changes = case when changes ? 'config'
        then (changes - 'config') || jsonb_build_object('configJson', changes -> 'config') else changes end,
    changed_fields = array_replace(changed_fields, 'config', 'configJson')
where resource_kind = 'attachments.partition'
    and (snapshot_before ? 'config' or snapshot_after ? 'config' or changes ? 'config');

set local app.scope = '';
