-- Files of absent records in the order in which they are deleted. All files of one look at the records have the same `absent_since`.
drop index attachments_attachments_absent_since_idx;
create index attachments_attachments_absent_since_idx
    on attachments_attachments (absent_since, tenant_id, id) where absent_since is not null;
