-- The keys by which a key was made, the first one first: a key ends with each of them.
alter table api_keys_keys add column creator_keys uuid[] not null default '{}';

-- Row-level security is forced, for the owner too.
set local app.scope = 'system';
with recursive line as (
    select k.tenant_id, k.id, array[k.created_by_id] as creators
    from api_keys_keys k
    where k.created_by_kind = 'api_key' and k.created_by_id is not null
    union all
    select line.tenant_id, line.id, k.created_by_id || line.creators
    from line
    join api_keys_keys k on k.tenant_id = line.tenant_id and k.id = line.creators[1]
    where k.created_by_kind = 'api_key' and k.created_by_id is not null and k.created_by_id <> all (line.creators)
), longest as (
    select distinct on (tenant_id, id) tenant_id, id, creators from line order by tenant_id, id, cardinality(creators) desc
)
update api_keys_keys k set creator_keys = longest.creators
from longest where longest.tenant_id = k.tenant_id and longest.id = k.id;
set local app.scope = '';

create index api_keys_keys_creator_keys_idx on api_keys_keys using gin (creator_keys) where creator_keys <> '{}';
