drop index api_keys_keys_creator_keys_idx;
alter table api_keys_keys drop column creator_keys;
