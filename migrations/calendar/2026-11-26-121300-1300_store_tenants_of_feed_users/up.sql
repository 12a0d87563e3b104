-- The tenant of the user of a feed, if it is not that of the feed: a super administrator has created the feed in a tenant that they had selected. Rows
-- without it, those of the earlier release included, belong to users of the feed's tenant.
alter table calendar_feeds
    add column user_tenant_id uuid,
    add constraint calendar_feeds_user_tenant_id_check check (user_tenant_id <> tenant_id);
create index calendar_feeds_user_tenant_id_user_id_idx on calendar_feeds (user_tenant_id, user_id) where user_tenant_id is not null;
