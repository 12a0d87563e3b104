-- Stores in S3. `credentials` are sealed; `upload_id` names the multipart upload of an object that is being stored.
alter table attachments_stores
    add column credentials bytea,
    drop constraint attachments_stores_driver_check,
    add constraint attachments_stores_driver_check check (driver in ('local', 's3'));
alter table attachments_staged
    add column upload_id text;
alter table attachments_partitions
    add column credentials_version integer not null default 0;
