create index api_keys_keys_creator_keys_idx on api_keys_keys using gin (creator_keys) where creator_keys <> '{}';
drop index api_keys_keys_tenant_id_created_by_id_idx;
