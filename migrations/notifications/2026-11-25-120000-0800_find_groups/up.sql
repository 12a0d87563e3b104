-- The notifications of a group, of all recipients.
create index notifications_notifications_group_key_idx on notifications_notifications (tenant_id, type, group_key)
    where group_key is not null and status <> 'dismissed';
