alter table attachments_partitions
    drop column credentials_version;
alter table attachments_staged
    drop column upload_id;
alter table attachments_stores
    drop constraint attachments_stores_driver_check,
    add constraint attachments_stores_driver_check check (driver in ('local')),
    drop column credentials;
