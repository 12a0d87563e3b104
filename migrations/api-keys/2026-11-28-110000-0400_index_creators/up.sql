-- The keys that a key created are found by their creator, step by step. Row-level security lets no index on the array `creator_keys` be used, since
-- containment of arrays is not leakproof.
create index api_keys_keys_tenant_id_created_by_id_idx on api_keys_keys (tenant_id, created_by_id) where created_by_kind = 'api_key';
drop index api_keys_keys_creator_keys_idx;
