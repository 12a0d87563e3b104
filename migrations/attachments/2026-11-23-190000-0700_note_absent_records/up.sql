-- Since when the record of a file has been absent, as the daily look at all records found.
alter table attachments_attachments add column absent_since timestamptz(3);
create index attachments_attachments_absent_since_idx on attachments_attachments (absent_since) where absent_since is not null;
