drop table devices_push_token_owners;
drop table devices_push_deliveries;
alter table devices_devices drop column push_key;
