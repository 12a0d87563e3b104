create table notifications_notifications (
    tenant_id uuid not null,
    id uuid not null,
    organization_id uuid,
    recipient_user_id uuid not null,
    type text not null,
    params jsonb not null,
    title text not null,
    body text not null,
    severity text not null,
    source_module text not null,
    source_entity_type text,
    source_entity_id uuid,
    link_href text,
    group_key text,
    status text not null,
    read_at timestamptz(3),
    dismissed_at timestamptz(3),
    email_sent_at timestamptz(3),
    expires_at timestamptz(3) not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint notifications_notifications_tenant_id_recipient_user_id_fkey foreign key (tenant_id, recipient_user_id)
        references auth_users (tenant_id, id) on delete cascade,
    constraint notifications_notifications_severity_check check (severity in ('info', 'warning', 'success', 'error')),
    constraint notifications_notifications_status_check check (
        case status
            when 'unread' then read_at is null and dismissed_at is null
            when 'read' then read_at is not null and dismissed_at is null
            when 'dismissed' then dismissed_at is not null
            else false
        end)
);
-- A repeat of a notification refreshes the row that its recipient has not dismissed.
create unique index notifications_notifications_tenant_id_recipient_user_id_group_key
    on notifications_notifications (tenant_id, recipient_user_id, type, group_key)
    where group_key is not null and status <> 'dismissed';
create index notifications_notifications_recipient_created_at_idx
    on notifications_notifications (tenant_id, recipient_user_id, created_at desc, id desc);
create index notifications_notifications_unread_idx
    on notifications_notifications (tenant_id, recipient_user_id) where status = 'unread';
create index notifications_notifications_expires_at_idx on notifications_notifications (expires_at);

create table notifications_preferences (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    type text not null,
    in_app boolean not null,
    push boolean not null,
    email boolean not null,
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (tenant_id, id),
    constraint notifications_preferences_tenant_id_user_id_type_key unique (tenant_id, user_id, type),
    constraint notifications_preferences_tenant_id_user_id_fkey foreign key (tenant_id, user_id)
        references auth_users (tenant_id, id) on delete cascade
);

call app_secure_table('notifications_notifications');
call app_secure_table('notifications_preferences');
