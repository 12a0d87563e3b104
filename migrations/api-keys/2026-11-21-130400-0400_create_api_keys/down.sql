drop table api_keys_key_roles;
drop table api_keys_keys;
